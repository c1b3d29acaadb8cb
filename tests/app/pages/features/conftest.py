"""Dictionaries of random directions for the small random model that the pages' tests open, in a models folder."""

from pathlib import Path

import pytest

from headlight.model.runs.run import Run
from tests.saved_dictionary import save_dictionary

HOOK = "blocks.1.hook_resid_pre"


@pytest.fixture
def saved(settings: dict[str, object], run: Run, tmp_path: Path) -> Path:
    """A models folder with an autoencoder, transcoders of two layers, before and behind the norm's gain,
    and a dictionary of a wider model."""
    folder, width = tmp_path / "models", run.cfg.d_model
    save_dictionary(folder / "sae", HOOK, width)
    for layer in (0, 2):
        hooks = f"blocks.{layer}.ln2.hook_normalized", f"blocks.{layer}.hook_mlp_out"
        save_dictionary(folder / "transcoders" / f"layer_{layer}", hooks[0], width, out=hooks[1], seed=layer)
        behind = f"blocks.{layer}.mlp.hook_in", hooks[1]
        save_dictionary(folder / "behind" / f"layer_{layer}", behind[0], width, out=behind[1], seed=layer)
    save_dictionary(folder / "wider", HOOK, 2 * width)
    settings["models_folder"] = str(folder)
    return folder
