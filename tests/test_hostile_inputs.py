"""A few inputs of every kind that `make hostile` has thousands of."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests import hostile_inputs
from tests.annotations import unchecked_annotations
from tests.hostile_inputs import KINDS, WrongError, take

SAMPLE = 6
OF_PAGES = ("links", "lessons")  # each of which takes some tenths of a second


@pytest.mark.parametrize("kind", [*OF_PAGES, "prompt and set files"])
def test_a_few_hostile_inputs_are_refused_in_words_or_answered_rightly(kind: str, tmp_path: Path) -> None:
    with unchecked_annotations():
        assert take(kind, SAMPLE, 1, tmp_path).inputs == SAMPLE


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_inputs_are_refused_in_words_or_answered_rightly(kind: str, tmp_path: Path) -> None:
    count = KINDS[kind][0] // (20 if kind in OF_PAGES else 10)
    with unchecked_annotations():
        seen = take(kind, count, 2, tmp_path)
    assert seen.inputs >= count
    assert seen.refused or kind == "links"  # whose page says what it could not read


def test_what_is_neither_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that is none of ours, a page's unexpected error, and an input that takes too long."""
    monkeypatch.setattr(hostile_inputs, "read_prompt_set", lambda data, name: 1 / 0)
    with pytest.raises(WrongError, match=r"set\.csv"):
        take("prompt and set files", SAMPLE, 0, tmp_path)
    monkeypatch.setattr(AppTest, "run", lambda page: page)
    monkeypatch.setattr(AppTest, "exception", property(lambda page: ["raised"]))
    with pytest.raises(WrongError, match="links"):
        take("links", 1, 0, tmp_path)
    monkeypatch.setattr(hostile_inputs, "SECONDS", 0.0)
    with pytest.raises(WrongError, match=r"took .* s and"):
        take("lessons", 2, 0, tmp_path)
