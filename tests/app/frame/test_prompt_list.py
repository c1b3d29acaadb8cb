"""The session's list of prompts and its last runs, without a page."""

from collections.abc import Iterator
from typing import Any

import pytest
import streamlit as st

from headlight.app.frame import prompt_list
from headlight.app.frame.prompt_list import (
    LIST_PAGE,
    MAX_LABELS,
    MAX_RUNS,
    MAX_TYPED,
    TYPED,
    Prompt,
    add,
    note,
    past_runs,
    prompts,
    remove,
)
from headlight.app.selection import Selection
from headlight.model.base.errors import InputError
from tests.app.choosing import selection_of


@pytest.fixture(autouse=True)
def _session(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    state: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", state)
    yield
    assert set(state) == {"prompt_list"}


def _from_file(*texts: str) -> list[Prompt]:
    return [Prompt(text, "a.csv", (("kind", "x"),)) for text in texts]


def _texts() -> list[str]:
    return [prompt.text for prompt in prompts()]


def test_uploaded_prompts_join_once_and_in_order() -> None:
    assert add(_from_file("one", "two", "one"), most=5) == 2
    assert add([*_from_file("two", "three"), Prompt("two", "a.csv", (("kind", "y"),))], most=5) == 2
    assert _texts() == ["one", "two", "three", "two"]


def test_an_upload_that_does_not_fit_changes_nothing() -> None:
    add(_from_file("one", "two"), most=3)
    with pytest.raises(InputError, match=r"2 more prompts do not fit: the list has 2 and takes 3\."):
        add(_from_file("two", "three", "four"), most=3)
    assert _texts() == ["one", "two"]


def test_prompts_can_be_removed() -> None:
    add(_from_file("one", "two", "three"), most=3)
    remove([1])
    assert _texts() == ["one", "three"]
    remove(range(2))
    assert _texts() == []


def test_what_is_run_joins_the_list_once() -> None:
    add(_from_file("one"), most=3)
    note(Selection(prompt="one"), "attention")
    note(Selection(prompt="two", prompt_b="three"), "attention")
    note(Selection(prompt="two", bos=False), "attention")
    assert _texts() == ["one", "two", "three"]
    assert [prompt.source for prompt in prompts()] == ["a.csv", TYPED, TYPED]


def test_a_removed_prompt_stays_away_while_its_run_is_shown() -> None:
    note(Selection(prompt="one"), "attention")
    remove([0])
    note(Selection(prompt="one", heads=((0, 1),)), "attention")
    assert _texts() == []


def test_of_many_typed_prompts_the_newest_stay_and_uploaded_ones_all() -> None:
    add(_from_file("uploaded"), most=3)
    for place in range(MAX_TYPED + 2):
        note(Selection(prompt=f"typed {place}"), "attention")
    assert _texts() == ["uploaded", *(f"typed {place}" for place in range(2, MAX_TYPED + 2))]


def test_the_newest_run_stands_first_as_it_was_last_seen() -> None:
    note(Selection(prompt="one"), "attention")
    note(Selection(prompt="two"), "lens")
    note(Selection(prompt="one", prompt_b="two"), "attention")
    note(Selection(prompt="two", heads=((1, 2),), table=True), "residual")
    assert [(run.selection.prompt, run.selection.prompt_b, run.page) for run in past_runs()] == [
        ("two", None, "residual"),
        ("one", "two", "attention"),
        ("one", None, "attention"),
    ]
    assert past_runs()[0].selection == Selection(prompt="two", heads=((1, 2),), table=True)


def test_the_page_of_the_list_is_none_to_go_back_to() -> None:
    note(Selection(prompt="one"), LIST_PAGE)
    assert (past_runs()[0].page, past_runs()[0].title) == ("", "Prompts")
    note(Selection(prompt="one"), "lens", "Logit lens")
    note(selection_of(prompt="one", bos=True, statistic="entropy"), LIST_PAGE)
    assert past_runs() == (prompt_list.PastRun(selection_of(prompt="one", statistic="entropy"), "lens", "Logit lens"),)


def test_the_oldest_runs_are_forgotten() -> None:
    for place in range(MAX_RUNS + 1):
        note(Selection(prompt=f"prompt {place}"), "attention")
    assert len(past_runs()) == MAX_RUNS
    assert past_runs()[-1].selection.prompt == "prompt 1"


def test_prompts_with_labels_of_their_own_do_not_make_a_column_each() -> None:
    """Thirty labels of its own for each of a thousand prompts are thirty million cells."""
    kept = [Prompt(f"kept {number}", "a.jsonl", ((f"label {number}", "x"),)) for number in range(MAX_LABELS - 1)]
    add(kept, 1000)
    before = prompts()
    more = [Prompt(f"more {number}", "b.jsonl", ((f"own {number}", "x"),)) for number in range(2)]
    with pytest.raises(InputError, match=r"would have 65 different labels, .* which takes 64\. Give prompts the same"):
        add(more, 1000)
    assert prompts() == before
    assert add(more[:1], 1000) == 1
