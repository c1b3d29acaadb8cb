"""A folder of a kind that is not known says which kind's names its tensors have."""

import json
from pathlib import Path

import pytest

from headlight.model import load
from headlight.model.base.errors import CheckpointError
from headlight.model.checkpoints.families import FAMILIES
from headlight.model.checkpoints.resemblance import likeness, resembled
from tests.model.checkpoints.test_architectures import CASES, noisy
from tests.model.oracles import random_gpt2


def call_it(kind: str, folder: Path) -> None:
    told = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(told | {"model_type": kind}))


@pytest.mark.parametrize("family", dict.fromkeys(name.partition(":")[0] for name in CASES))
def test_a_folder_resembles_its_own_family(family: str, tmp_path: Path) -> None:
    first = next(case for name, case in CASES.items() if name.startswith(f"{family}:"))
    noisy(first).save_pretrained(tmp_path)
    assert family in resembled(tmp_path, FAMILIES)


def test_a_gpt2_resembles_a_gpt2(tmp_path: Path) -> None:
    random_gpt2().save_pretrained(tmp_path)
    assert "gpt2" in resembled(tmp_path, FAMILIES)


def test_what_is_unknown_and_resembles_a_known_kind_is_refused_with_its_name(tmp_path: Path) -> None:
    noisy(CASES["qwen3: grouped"]).save_pretrained(tmp_path)
    call_it("qwen9", tmp_path)
    with pytest.raises(CheckpointError, match=r"'qwen9'.*; its tensors have the names of a qwen3\. If it computes"):
        load(tmp_path)


def test_what_resembles_nothing_is_told_what_there_is(tmp_path: Path) -> None:
    noisy(CASES["qwen3: grouped"]).save_pretrained(tmp_path)
    call_it("qwen9", tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(
        CheckpointError, match=r"is a 'qwen9', which is none of the architectures that open\. What opens is a Hugging"
    ):
        load(tmp_path)


def test_likeness_counts_layers_once_and_no_biases() -> None:
    assert likeness({"h.0.w", "h.1.w", "h.1.w.bias"}, {"h.0.w"}) == 1.0
    assert likeness({"h.0.w", "h.0.v"}, {"h.0.w", "h.0.u"}) == 1 / 3
