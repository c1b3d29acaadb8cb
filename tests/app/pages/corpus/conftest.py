"""Two scans of the small random model that the pages' tests open, as a models folder's; written by hand."""

from pathlib import Path

import pytest

from headlight.model.runs.run import Run
from tests.headvis_tree import figures, write, write_tree

HOSTILE = "<b>$x$</b> ![i](https://e.example/p.png)"
TEXT = "one two three one two"


def later(layer: int, head: int) -> dict[str, float]:
    """A head's figures after more training: as before, but for induction."""
    return {**figures(layer, head), "induction_score": round(0.9 - 0.01 * head, 4)}


@pytest.fixture
def scans(settings: dict[str, object], run: Run, tmp_path: Path) -> Path:
    """A models folder with two scans of one training, and one of another model."""
    shape = run.cfg.n_layers, run.cfg.n_heads
    tokens = [run.tokenizer.to_string([each]) for each in run.tokenizer.to_tokens(TEXT, prepend_bos=True)[0].tolist()]
    config = {"version": 1, "model": run.source.name, "corpus": "held-out", "n_documents": 12, "loss": 2.5}
    folder = tmp_path / "models"
    write_tree(folder / "early", run.source.name, shape, settings={**config, "step": 100}, tokens=tokens)
    write_tree(folder / "late", run.source.name, shape, settings={**config, "step": 900}, tokens=tokens, figures=later)
    export = write_tree(folder / "other" / "headvis" / "pile", HOSTILE, (2, 2))
    write(export / "heads" / "L0H0.json", {"sequences": [{"interval": 1, "tokens": 3}]})
    settings["models_folder"] = str(folder)
    return folder
