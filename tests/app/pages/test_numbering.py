"""One token has one number on every page: its place on the axis that A and B have in common, counted by hand here."""

from pathlib import Path

import pytest

from headlight.app.exports.facts import facts
from headlight.app.pages.patching import EXPORT as PATCHING
from headlight.app.pages.patching import view as patching
from headlight.app.pages.patching.patches import patched_of
from headlight.app.runs import comparisons
from headlight.app.selection import Selection
from headlight.model.attention.fields import How
from headlight.model.attention.tables import read_attention
from headlight.model.runs.comparison import Comparison, compare
from headlight.model.runs.run import Run, run_prompt
from tests.app.choosing import selection_of
from tests.tiny import open_tiny

pytestmark = pytest.mark.usefixtures("unchecked")  # runs of other lengths are patched into one another
PROMPT, OTHER = "one two three two", "four one two three two"
PLACES = {"A": (0, 1, 5, 6, 7), "B": (0, 2, 3, 4, 5, 6, 7)}  # "one", then "fo", "ur", "␣one", then what both have


def both(folder: str, **chosen: object) -> tuple[Comparison, Selection]:
    """B has other tokens than A before those that both have."""
    selection = selection_of(model=folder, prompt=PROMPT, prompt_b=OTHER, align="tokens", **chosen)
    return comparisons.for_selection(selection), selection


def test_a_runs_positions_have_places(run: Run, folder: str) -> None:
    comparison, _ = both(folder)
    for side, side_run in comparison.sides.items():
        assert comparison.places(side_run) == PLACES[side]
        assert tuple(comparison.place_of(side_run, at) for at in range(len(side_run.tokens))) == PLACES[side]
        assert facts(comparison)[side]["places"] == list(PLACES[side])
    assert Comparison(run).places(run) == tuple(range(len(run.tokens)))


@pytest.mark.parametrize("into", "AB")
def test_patching_numbers_the_tokens_of_the_run_that_is_patched(run: Run, folder: str, into: str) -> None:
    comparison, selection = both(folder, patch_map="resid_pre", patch_into=into)
    names = {"A": ("", "−one", "␣two", "␣three", "␣two"), "B": ("", "+fo", "+ur", "+␣one", "␣two", "␣three", "␣two")}
    columns = patched_of(comparison, selection).exact.columns
    numbers, labels = zip(*(each.split(" ", 1) for each in columns), strict=True)
    assert tuple(map(int, numbers)) == PLACES[into]
    assert labels[1:] == names[into][1:]
    assert [patching._token(comparison, place).split()[0] for place in patching._places(comparison, selection)] == list(
        "0567"
    )
    data = PATCHING.data(comparison, selection)
    assert data.shows["predicted after"] == "7 ␣two"
    in_data = list(dict.fromkeys(data.tables["map"]["position"]))
    assert (in_data[0], columns[0]) == ("0 <|endoftext|>", "0 ⟨bos⟩")  # in data as the tokenizer has it
    assert in_data[1:] == list(columns[1:])


def test_sinks_stand_at_their_querys_places(tmp_path: Path) -> None:
    model = open_tiny("gpt_oss-like", tmp_path / "model")
    comparison = compare(*(run_prompt(model, text) for text in (PROMPT, OTHER)))
    table = read_attention(comparison, [(0, 1)], How()).tables(comparison, with_cells=False)["sinks"]
    for side, run in comparison.sides.items():
        positions = comparison.alignment.a if side == "A" else comparison.alignment.b  # type: ignore[union-attr]
        expected = [place for place, position in enumerate(positions) if position is not None]
        assert expected == list(comparison.places(run))
        listed = [place for name, place in zip(table["run"], table["place"], strict=True) if name == side]
        assert listed == expected
