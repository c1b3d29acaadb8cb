"""What can be taken along of the page *Flow*: the script prints its numbers, its tokens stay text."""

from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from headlight.app.exports import style
from headlight.app.exports.style import DARK, LIGHT
from headlight.app.figures.text import token_name
from headlight.app.pages.flow import EXPORT as FLOW
from headlight.app.runs import comparisons
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import AblateHeads, CutEdge
from tests.app.exports.hostile import OTHER, chosen
from tests.app.exports.test_code import compare, run_here
from tests.app.exports.test_documents import Opened
from tests.app.exports.test_pictures import texts

CASES = [
    {},
    {"position": 6, "flow_threshold": 0.0005},
    {"prompt_b": OTHER, "flow_threshold": 0.001},
    {"prompt_b": OTHER, "align": "position", "position": 3, "flow_threshold": 0.1},
    {"prompt_b": OTHER, "model_b": "mini"},
    {"edits": (AblateHeads(((0, 1),), "mean"), CutEdge((1, 2), 9, 4, True))},
]


@pytest.mark.parametrize("fields", CASES)
def test_a_script_prints_the_pages_numbers(fields: dict[str, object], folder: str) -> None:
    selection = chosen(folder, **fields)
    compare(run_here(FLOW.script(comparisons.for_selection(selection), selection)), FLOW, fields, folder)


def test_shares_into_a_node_are_its_edges(alone: Comparison, folder: str) -> None:
    tables = FLOW.data(alone, chosen(folder, flow_threshold=0.0005)).tables
    edges, heads = tables["edges"], tables["heads"]
    into = list(zip(edges["into"], edges["at place"], edges["by"], edges["from place"], strict=True))
    assert len(set(into)) == len(into)
    of_heads: dict[tuple[object, ...], float] = {}
    keys = zip(heads["into"], heads["at place"], heads["from place"], strict=True)
    for key, share in zip(keys, heads["share of the node"], strict=True):
        of_heads[key] = of_heads.get(key, 0.0) + float(str(share))
    for (state, at, kind, source), share in zip(into, edges["share of the node"], strict=True):
        if kind == "attention":
            assert of_heads[state, at, source] == pytest.approx(share, abs=1e-6)  # float32


def test_the_change_is_a_table_of_its_own(two: Comparison, alone: Comparison, folder: str) -> None:
    tables = FLOW.data(two, chosen(folder, prompt_b=OTHER, flow_threshold=0.0005)).tables
    edges = tables["changed edges"]
    a, b, change = ([float(str(cell)) for cell in edges[f"share of the node, {side}"]] for side in ("A", "B", "B - A"))
    assert [y - x for x, y in zip(a, b, strict=True)] == pytest.approx(change)
    assert all(max(pair) >= 0.0005 for pair in zip(a, b, strict=True))
    assert None in tables["changed nodes"]["share of the start, A"]  # a token that B alone has
    assert not [name for name in FLOW.data(alone, chosen(folder)).tables if name.startswith("changed")]


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_tokens_stay_text_in_the_picture(two: Comparison, folder: str, palette: style.Palette) -> None:
    """Dollars are no mathematics, angle brackets no markup: warnings are errors."""
    selection = chosen(folder, prompt_b=OTHER)
    svg = style.file(lambda: FLOW.picture(two, selection, palette), palette, "svg")
    assert {"L0 MLP", "embed", "$", "B − A"} <= set(texts(svg))


def test_the_file_of_two_tells_the_change(browser: Browser, tmp_path: Path, two: Comparison, folder: str) -> None:
    opened = Opened(browser, tmp_path / "page.html")
    page = opened.open(FLOW.page(two, chosen(folder, prompt_b=OTHER, flow_threshold=0.0005)))
    graphs = page.get_by_role("application", name="information flow")
    expect(graphs).to_have_count(3)
    graphs.last.focus()
    page.keyboard.press("ArrowUp")
    tooltip = page.locator(".tooltip:popover-open")
    expect(tooltip).to_contain_text("of the start in A")
    expect(tooltip).to_contain_text("B − A")
    page.keyboard.press("PageDown")
    expect(tooltip).to_contain_text("share of the node in B")
    assert two.alignment is not None
    place, position = two.default_place, two.alignment.a[two.default_place]
    assert position not in (None, place)  # by A's own count the token would have another number
    graphs.first.focus()
    page.keyboard.press("ArrowUp")
    expect(tooltip).to_contain_text(f"{place} {two.labels[place]}")
    page.context.close()
    assert not opened.complaints


def test_the_file_tells_its_numbers(browser: Browser, tmp_path: Path, alone: Comparison, folder: str) -> None:
    selection = chosen(folder)
    assert FLOW.page(alone, selection) == FLOW.page(alone, selection)
    opened = Opened(browser, tmp_path / "page.html")
    page = opened.open(FLOW.page(alone, selection))
    graph = page.get_by_role("application", name="information flow")
    graph.focus()
    page.keyboard.press("ArrowUp")
    tooltip = page.locator(".tooltip:popover-open")
    expect(tooltip).to_contain_text("L2 MLP")
    page.keyboard.press("ArrowLeft")
    expect(tooltip).to_contain_text("No flow from the chosen token.")
    page.context.close()
    assert not opened.complaints


def test_positions_without_a_node_are_half_as_wide_in_the_picture(alone: Comparison, folder: str) -> None:
    figure = FLOW.picture(alone, chosen(folder, flow_threshold=0.2), LIGHT)
    (axes,) = (axes for axes in figure.axes if axes.get_yticklabels() and axes.patches)
    nodes = {round(float(x), 6) for dots in axes.collections for x, _ in dots.get_offsets()}
    places = [round(float(place), 6) for place in axes.get_xticks()]
    widths = [1.0 if place in nodes else 0.5 for place in places]
    assert nodes < set(places)
    assert len(places) == len(alone.a.labels)
    gaps = [(one + other) / 2 for one, other in pairwise(widths)]
    assert [other - one for one, other in pairwise(places)] == pytest.approx(gaps)
    named = [token_name(label, place) for place, label in enumerate(alone.a.labels)]
    assert [label.get_text() for label in axes.get_xticklabels()] == named
    colours = {place in nodes: label.get_color() for place, label in zip(places, axes.get_xticklabels(), strict=True)}
    assert colours == {True: LIGHT.text, False: LIGHT.faded}
