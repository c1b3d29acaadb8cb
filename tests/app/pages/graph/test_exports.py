"""What can be taken along of the page *Graph*: the script prints its numbers, and its tokens stay text."""

import re

import pytest

from headlight.app.exports import style
from headlight.app.exports.data import archive
from headlight.app.exports.style import LIGHT
from headlight.app.pages.graph import EXPORT
from headlight.app.runs import comparisons
from headlight.model.runs.edits import AblateHeads
from tests.app.exports.hostile import OTHER, chosen
from tests.app.exports.test_code import compare, run_here

pytestmark = pytest.mark.usefixtures("unchecked")  # a batch grows where ablations run side by side
SMALL = {"graph_most": 25}
CASES: list[dict[str, object]] = [
    {**SMALL, "position": 6, "graph_nodes": 0.9, "graph_against": "mean"},
    {**SMALL, "prompt_b": OTHER, "graph_folded": True},
    {"prompt_b": OTHER, "align": "position", "graph_mode": "circuit", "circuit_steps": 2, "circuit_least": 0.2},
    {"graph_mode": "circuit", "circuit_steps": 2, "circuit_least": 0.2},
    pytest.param({**SMALL, "edits": (AblateHeads(((0, 1),), "mean"),)}, marks=pytest.mark.thorough),
]


@pytest.mark.parametrize("fields", CASES)
def test_the_script_prints_the_pages_numbers(fields: dict[str, object], folder: str) -> None:
    selection = chosen(folder, **fields)
    comparison = comparisons.for_selection(selection)
    compare(run_here(EXPORT.script(comparison, selection)), EXPORT, fields, folder)
    assert archive(comparison, EXPORT.data(comparison, selection)) == archive(
        comparison, EXPORT.data(comparison, selection)
    )


@pytest.mark.thorough
def test_tokens_stay_text(folder: str) -> None:
    selection = chosen(folder, **SMALL)
    comparison = comparisons.for_selection(selection)
    picture = style.file(lambda: EXPORT.picture(comparison, selection, LIGHT), LIGHT, "svg").decode()
    assert "of the influence" in picture
    page = EXPORT.page(comparison, selection).decode()
    outside = re.sub(r'(?<=id="data">)[A-Za-z0-9+/=]+', "", page)
    assert not re.findall(r"https?:|\bsrc=|\bhref=|@import|url\(|\bfetch\(|<b>", outside)
