"""Which files of lenses a server opens."""

from pathlib import Path

import pytest
import torch

from headlight.app.runs import lenses, models
from headlight.model import load
from headlight.model.base.errors import CheckpointError
from headlight.model.lens.files import write_tuned
from headlight.model.lens.opening import ASSETS


def test_a_server_unpickles_no_lens_but_those_that_come_with_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it opens no pickled model; on this machine alone the user's own files open."""
    model = load("mini")
    width, layers = model.cfg.d_model, range(model.cfg.n_layers)
    state = {f"{layer}.weight": torch.zeros(width, width) for layer in layers}
    write_tuned(tmp_path, model, state | {f"{layer}.bias": torch.zeros(width) for layer in layers}, "mini")
    monkeypatch.setattr(models, "any_model_allowed", lambda: False)
    assert lenses._read("tuned", tmp_path).kind == "tuned"
    (tmp_path / "params.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"params\.pt is a pickle, which is not opened here"):
        lenses._read("tuned", tmp_path)
    assert lenses._read("tuned", ASSETS / "lenses" / "mini" / "tuned").kind == "tuned"
    monkeypatch.setattr(models, "any_model_allowed", lambda: True)
    assert lenses._read("tuned", tmp_path).kind == "tuned"
