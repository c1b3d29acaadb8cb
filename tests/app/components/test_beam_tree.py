"""The tree of a beam search in a browser: where its nodes stand, what they say, and which one is chosen."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from headlight.app import components
from headlight.app.components import BeamNode, beam_tree
from headlight.app.components.shared.mount import recorded
from tests.app.components import crossed
from tests.app.components.conftest import FIRST_DRAWING, go
from tests.app.components.crossed import BEST, HOSTILE, NODES
from tests.app.components.panels import tooltip

PAGE = "crossed_page.py"
COMPONENTS = Path(components.__file__).parent
Open = Callable[[str], Page]


@pytest.fixture
def open_tree(tab: Page, address: str) -> Open:
    """Opens the page with the small search, or one of so many steps and beams: "20,8"."""

    def opened(search: str = "") -> Page:
        go(tab, f"{address}&tree={search}")
        expect(tab.locator(".node").first).to_be_visible(timeout=FIRST_DRAWING)
        return tab

    return opened


@pytest.fixture(scope="module")
def scripts(browser: Browser) -> Iterator[Page]:
    """An empty page with the tree's layout as its globals."""
    page = browser.new_page()
    for path in ["shared/text.js", "beam_tree/layout.js"]:
        page.add_script_tag(path=COMPONENTS / path)
    yield page
    page.close()


def node(page: Page, index: int) -> Locator:
    return page.locator(f"#node-{index}")


def chosen_branch(page: Page) -> list[int]:
    """The nodes that stand out."""
    ids = page.locator(".node.chosen").evaluate_all("nodes => nodes.map((node) => node.id)")
    return [int(each.removeprefix("node-")) for each in ids]


@pytest.mark.parametrize(
    ("wanted", "count", "rows"),
    [
        ([0, 4], 5, [0, 4]),  # both have what they want
        ([2, 2, 2], 5, [1, 2, 3]),  # around the one wish
        ([0, 0, 0], 5, [0, 1, 2]),  # but not above the first row
        ([4, 4], 5, [3, 4]),
        ([1, 1, 2, 4], 6, [0.3333, 1.3333, 2.3333, 4]),  # -1/3, -1/3 and -1/3 of a row off, the last where it wants
    ],
)
def test_rows_are_the_nearest_that_are_one_apart(
    scripts: Page, wanted: list[float], count: int, rows: list[float]
) -> None:
    assert scripts.evaluate("([wanted, count]) => apart(wanted, count)", [wanted, count]) == pytest.approx(
        rows, abs=1e-4
    )


@pytest.mark.parametrize(
    "nodes", [NODES, crossed.search(20, 8), crossed.search(4, 1)], ids=["small", "20 x 8", "greedy"]
)
def test_no_two_lines_of_a_tree_cross(scripts: Page, nodes: list[BeamNode]) -> None:
    """Children stand in the order of their parents, a row apart, and all in as few rows as can be."""
    script = """([parents, steps]) => {
      const { columns, rows, count } = new TreeLayout({ parents, steps });
      return [columns, rows, count];
    }"""
    tree: list[Any] = [[each.parent for each in nodes], [each.step for each in nodes]]
    columns, rows, count = scripts.evaluate(script, tree)
    assert count == max(map(len, columns))
    for step, column in enumerate(columns, 1):
        assert sorted(column) == [index for index, each in enumerate(nodes) if each.step == step]
        heights = [rows[index] for index in column]
        assert heights[0] >= 0
        assert heights[-1] <= count - 1
        assert all(below - above >= 1 - 1e-9 for above, below in pairwise(heights))
        parents = [nodes[index].parent for index in column]
        from_above = [-1.0 if parent is None else rows[parent] for parent in parents]
        assert from_above == sorted(from_above)


def test_an_index_of_a_longer_search_is_none() -> None:
    with recorded():
        assert [beam_tree(NODES, selected=selected, epoch=0, key="tree") for selected in (8, 9, None)] == [
            8,
            None,
            None,
        ]


def test_nodes_show_token_log_probability_score_and_fate(open_tree: Open) -> None:
    page = open_tree()
    expect(page.get_by_text("chosen 6")).to_be_visible()
    assert page.locator(".node .token").all_text_contents() == [each.label for each in NODES]
    expect(node(page, 3).locator(".numbers")).to_have_text("−0.50 | −0.38")
    assert [
        each.split()[1] for each in page.locator(".node").evaluate_all("all => all.map((one) => one.className)")
    ] == [each.state for each in NODES]
    expect(page.locator(".node .mark")).to_have_text(["✓"])  # not by colour alone
    borders = {
        state: node(page, index).evaluate("node => getComputedStyle(node).borderStyle")
        for index, state in ((1, "kept"), (2, "dropped"), (6, "finished"))
    }
    assert borders == {"kept": "solid", "dropped": "dashed", "finished": "double"}
    expect(page.locator(".legend .entry")).to_have_text(
        ["kept", "✓ finished", "dropped", "chosen", "under a token: log-probability (nats) | score"]
    )
    assert sorted(chosen_branch(page)) == [0, 3, 6]
    orange_ends = page.locator(".tree canvas").evaluate_all(
        """(canvases, pin) => canvases.map((canvas) => {
          const pixels = canvas.getContext("2d").getImageData(canvas.width - 1, 0, 1, canvas.height).data;
          const rows = Array.from({ length: canvas.height }, (_, row) => pixels.slice(4 * row, 4 * row + 4));
          return rows.flatMap((pixel, row) => (`${pixel}` === `${pin},255` ? [row] : []));
        })""",
        [208, 74, 2],
    )
    for rows, index in zip(orange_ends, [0, 3, 6], strict=True):
        middle = node(page, index).evaluate("node => node.offsetTop + node.offsetHeight / 2")
        assert np.mean(rows) == pytest.approx(middle, abs=1)
    node(page, 4).hover()
    assert tooltip(page) == {
        "title": "שלום",
        "log-probability": "−0.2500 nats",
        "total": "−2.000 nats",
        "score": "−1.000",
        "step": "2",
        "state": "kept",
    }
    assert page.locator("img[src=x]").count() == 0
    node(page, 1).hover()
    assert tooltip(page)["title"] == HOSTILE


def test_a_click_chooses_a_branch_and_the_server_may_force_another(open_tree: Open) -> None:
    page = open_tree()
    node(page, 7).click()
    expect(page.get_by_text("chosen 7")).to_be_visible()
    assert sorted(chosen_branch(page)) == [1, 4, 7]
    assert tooltip(page)["state"] == "dropped, chosen"
    node(page, 7).click()
    expect(page.get_by_text("chosen None")).to_be_visible()
    assert chosen_branch(page) == []
    page.get_by_role("button", name="best").click()
    expect(page.get_by_text(f"chosen {BEST}")).to_be_visible()
    expect(page.locator(".node.chosen")).to_have_count(3)  # drawn when its own part of the answer has come
    assert sorted(chosen_branch(page)) == [0, 3, 6]


def test_the_tree_is_used_by_keyboard_and_read_aloud(open_tree: Open) -> None:
    page = open_tree()
    tree = page.get_by_role("tree")
    expect(tree).to_have_accessible_name(re.compile("Beam search, 3 steps, 9 tokens. Arrow keys"))
    item = page.get_by_role("treeitem", name="</s>, log-probability −0.13, score −0.29, finished")
    expect(item).to_have_attribute("aria-level", "3")
    expect(item).to_have_attribute("aria-selected", "true")
    expect(item).to_have_attribute("aria-setsize", "2")
    tree.focus()
    page.keyboard.press("ArrowLeft")  # the first key only goes to the chosen one
    expect(tree).to_have_attribute("aria-activedescendant", "node-6")
    for press, index in [("ArrowLeft", 3), ("ArrowDown", 5), ("ArrowDown", 4), ("ArrowRight", 7), ("ArrowRight", 7)]:
        page.keyboard.press(press)
        expect(tree).to_have_attribute("aria-activedescendant", f"node-{index}")
    expect(page.locator(".live")).to_contain_text("log-probability −0.5000 nats total −2.500 nats score −0.8333 step 3")
    for press, index in [("Home", 1), ("End", 7), ("ArrowUp", 8), ("ArrowUp", 6), ("ArrowUp", 6)]:
        page.keyboard.press(press)
        expect(tree).to_have_attribute("aria-activedescendant", f"node-{index}")
    expect(page.get_by_text("chosen 6")).to_be_visible()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page.get_by_text("chosen 0")).to_be_visible()
    assert tooltip(page)["state"] == "kept, chosen"
    page.keyboard.press("Escape")
    expect(page.get_by_text("chosen None")).to_be_visible()


def test_a_large_search_scrolls_in_its_box_to_what_is_chosen(open_tree: Open) -> None:
    page = open_tree("20,8")
    box = page.locator(".tree")
    assert page.locator(".node").count() == 20 * 16
    assert box.evaluate("box => box.scrollWidth > 2 * box.clientWidth && box.scrollHeight > box.clientHeight")
    assert box.evaluate("box => box.clientHeight") <= 560
    expect(node(page, 19 * 16)).to_be_in_viewport(ratio=1)
    before = page.get_by_test_id("stMain").evaluate("main => main.scrollTop")
    box.focus()
    for press in ["Home", "Home"]:
        page.keyboard.press(press)
    assert box.evaluate("box => box.scrollLeft") == 0
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollTop") == before
    names = page.locator(".steps span")
    expect(names.first).to_be_in_viewport()
    box.evaluate("box => box.scrollTo(0, box.scrollHeight)")
    expect(names.first).to_be_in_viewport(ratio=1)  # the steps' names stay


def test_a_dark_phone_shows_the_tree_without_scrolling_the_page_sideways(browser: Browser, address: str) -> None:
    context = browser.new_context(
        color_scheme="dark", viewport={"width": 390, "height": 844}, device_scale_factor=3, has_touch=True
    )
    page = context.new_page()
    page.goto(f"{address}&tree=")
    expect(page.locator(".node").first).to_be_visible(timeout=FIRST_DRAWING)
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth <= main.clientWidth")
    node(page, 8).tap()
    expect(page.get_by_text("chosen 8")).to_be_visible()
    assert tooltip(page)["state"] == "dropped, chosen"
    context.close()
