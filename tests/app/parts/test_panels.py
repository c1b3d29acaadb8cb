"""A head that the browser fetches is what the page would have sent, and none is to be had of a forgotten run."""

from collections.abc import Iterator

import numpy as np
import pytest
import streamlit

from headlight.app.components.heads import panel_arrays, panel_props
from headlight.app.components.shared.fetchable import fetch
from headlight.app.parts.panels import fetchable, panel
from headlight.app.runs import comparisons, runs
from headlight.app.selection import Selection
from headlight.model.attention.axis import Unit, axis_of
from headlight.model.runs.comparison import Comparison
from tests.unpacking import unpack

PROMPT, OTHER = "The cat sat on the mat. It ran.", "The dog sat on the mat."


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(streamlit, "session_state", {})
    yield
    runs._results.cache_clear()


def _shown(prompt_b: str | None = None) -> Comparison:
    return comparisons.for_selection(Selection("mini", PROMPT, prompt_b=prompt_b))


@pytest.mark.parametrize("unit", ["token", "sentence"])
@pytest.mark.parametrize("prompt_b", [None, OTHER])
def test_a_fetched_head_is_what_the_page_sends(prompt_b: str | None, unit: Unit) -> None:
    comparison = _shown(prompt_b)
    axis = axis_of(comparison, unit, "tokens")
    packed = fetch(fetchable(comparison, axis, unit).name, 1, 2)
    assert packed is not None
    header, arrays = unpack(packed)
    expected = panel(comparison, (1, 2), axis, unit)
    assert header["panel"] == {**panel_props(expected), "heads": [[1, 2]] * len(expected.sides)}
    assert arrays.keys() == panel_arrays(expected).keys()
    for name, array in panel_arrays(expected).items():
        np.testing.assert_array_equal(arrays[name], array)


def test_one_name_serves_as_long_as_the_same_is_shown() -> None:
    comparison, again, compared = _shown(), _shown(), _shown(OTHER)
    axis = axis_of(comparison, "token", "tokens")
    first = fetchable(comparison, axis, "token")
    assert fetchable(again, axis_of(again, "token", "tokens"), "token") is first
    assert fetchable(comparison, axis_of(comparison, "word", "tokens"), "word") is not first
    name = first.name
    del first
    assert fetchable(compared, axis_of(compared, "token", "tokens"), "token").name != name
    assert fetch(name, 0, 0) is None


def test_a_head_that_is_not_there_and_a_run_that_was_forgotten_give_nothing() -> None:
    comparison = _shown()
    name = fetchable(comparison, axis_of(comparison, "token", "tokens"), "token").name
    assert fetch(name, comparison.n_layers, 0) is None
    assert fetch(name, 0, comparison.n_heads) is None
    assert fetch(name, 0, 0) is not None
    runs._results.cache_clear()
    assert fetch(name, 0, 0) is None
