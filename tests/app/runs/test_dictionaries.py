"""Which dictionaries are offered for a model's MLPs, and how often their files are opened for that."""

from pathlib import Path

import pytest

from headlight.app.pages.graph.graph_view import units_offered
from headlight.app.runs import dictionaries
from headlight.app.runs.limits import ByteCache
from headlight.model.features import Dictionaries
from headlight.model.features.opening import open_dictionary
from headlight.model.runs.run import Run
from tests.saved_dictionary import save_dictionary


def test_files_are_opened_once_to_list_what_stands_for_mlps(
    run: Run, settings: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However little of them is kept open: here one dictionary, where there are three and those that are shipped."""
    width, opened = run.cfg.d_model, list[str]()
    for name in ("one", "two"):
        for layer in range(run.cfg.n_layers):
            hook, out = f"blocks.{layer}.hook_resid_mid", f"blocks.{layer}.hook_mlp_out"
            save_dictionary(tmp_path / name / str(layer), hook, width, out=out)
    save_dictionary(tmp_path / "stream", "blocks.0.hook_resid_pre", width)
    settings.update(models_folder=str(tmp_path))
    kept = ByteCache(1)
    monkeypatch.setattr(dictionaries, "_opened", lambda: kept)

    def counted(path: str) -> Dictionaries:
        opened.append(path)
        return open_dictionary(path)

    monkeypatch.setattr(dictionaries, "open_dictionary", counted)
    dictionaries._answers.cache_clear()
    assert units_offered(run) == ["one", "two"]
    once = len(opened)
    assert once == len(dictionaries.offered())
    assert units_offered(run) == ["one", "two"]
    assert len(opened) == once
    save_dictionary(tmp_path / "two" / "again", "blocks.0.hook_resid_pre", width)  # a second one of layer 0
    assert units_offered(run) == ["one"]
