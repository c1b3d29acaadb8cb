"""Two runs on the axis of tokens that they have in common."""

import json
import shutil
from pathlib import Path

import pytest

from headlight.app.runs import shown
from headlight.app.selection import Selection
from headlight.model.errors import InputError

A, B = "one two three one two three", "one two four one two three five"


def _of(folder: str, **chosen: object) -> shown.Comparison:
    return shown.of(Selection(model=folder, prompt=A, bos=False, **chosen))  # type: ignore[arg-type]


def test_without_b_the_axis_is_that_of_a(folder: str) -> None:
    found = _of(folder)
    assert found.b is None
    assert found.labels == found.a.labels
    assert set(found.presence) == {"both"}
    assert found.positions(found.a) == tuple(range(len(found.labels)))


def test_tokens_of_one_run_alone_are_marked(folder: str) -> None:
    found = _of(folder, prompt_b=B)
    marked = [(label, kind) for label, kind in zip(found.labels, found.presence, strict=True) if kind != "both"]
    assert [kind for _, kind in marked] == ["a"] + ["b"] * (len(marked) - 1)
    assert marked[0][0].startswith("−")
    assert all(label.startswith("+") for label, kind in marked if kind == "b")
    assert found.b is not None
    for run in found.runs:
        assert [place for place in found.positions(run) if place is not None] == list(range(len(run.tokens)))
        for label, place in zip(found.labels, found.positions(run), strict=True):
            assert place is None or label.lstrip("−+") == run.labels[place]


def test_by_position_a_changed_token_shows_both(folder: str) -> None:
    found = _of(folder, prompt_b=B, align="position")
    changed = found.presence.index("changed")
    assert found.b is not None
    assert found.labels[changed] == f"{found.a.labels[changed]}→{found.b.labels[changed]}"


def test_what_is_wrong_with_b_is_said_of_b(folder: str) -> None:
    with pytest.raises(InputError, match=r"^B: The prompt has"):
        _of(folder, prompt_b="word " * 200)


def test_the_same_prompt_needs_no_marks(folder: str) -> None:
    found = _of(folder, prompt_b=A)
    assert found.labels == found.a.labels
    assert set(found.presence) == {"both"}


def test_models_with_other_vocabularies_are_not_compared(folder: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    tokenizer = json.loads((other / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary["a"], vocabulary["b"] = vocabulary["b"], vocabulary["a"]
    (other / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(InputError, match=r"different tokenizers.*Choose as model B one with the tokenizer of"):
        _of(folder, prompt_b=A, model_b=str(other))
