"""The page *Graph* in a browser: a row walks to its node, whose inputs add up; a graph is saved, and opened again."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from headlight.app.registry import VIEWS
from headlight.model.graph.reading import open_graph
from tests.e2e.driver import Driver

GRAPH = next(view for view in VIEWS if view.slug == "graph")
PROMPT = "When Mary and John went to the shop, John gave a drink to"


def _sum(app: Driver) -> list[float]:
    """The numbers of the sentence that spells out a node's inputs: edges shown and not, bias, and their sum."""
    said = app.page.get_by_text(re.compile("^Kept edges")).first.inner_text()
    return [float(each.replace("−", "-")) for each in re.findall(r"[−]?\d+(?:\.\d+)?", said)]


def test_a_walk_along_the_graph_adds_up_and_can_be_taken_home(app: Driver, tmp_path: Path) -> None:
    app.open(GRAPH, prompt=PROMPT)
    page = app.page
    expect(page.get_by_text(re.compile("of the influence, and"))).to_be_visible()
    expect(page.get_by_text(re.compile("The graph (holds|does not hold)"))).to_be_visible()
    first = page.get_by_role("grid", name="Inputs").get_by_role("gridcell", name=re.compile(r"^L\dH\d at")).first
    name = first.inner_text()
    first.click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    app.settle()
    visible, hidden, bias, total, *_ = _sum(app)
    assert visible + hidden + bias == pytest.approx(total, abs=0.02)  # each is rounded to four digits
    with page.expect_download() as waited:
        page.get_by_role("button", name="Save as json").click()
    saved = tmp_path / "graph.json"
    waited.value.save_as(saved)
    opened = open_graph(saved.read_bytes())
    assert json.loads(saved.read_text())["metadata"]["prompt"] == PROMPT
    page.get_by_role("button", name="Open a json").click()
    page.locator("input[type=file]").set_input_files(saved)
    expect(page.get_by_role("heading", name="A graph from a file")).to_be_visible()
    expect(page.get_by_text(re.compile(rf"of {len(opened.graph.nodes)} nodes are kept"))).to_be_visible()
    page.get_by_role("button", name="Close the file").click()
    expect(page.get_by_role("heading", name="Attribution graph")).to_be_visible()
    page.get_by_role("button", name="Why", exact=True).click()
    page.wait_for_url(re.compile("page=why"))
