"""The heads of two runs in a browser: pixels, numbers, legends and names, compared with numpy."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.app.components import compared
from tests.app.components.compared import LABELS, N_PLACES
from tests.app.components.panels import Open, click_at, number, pixels, plot, point_at

PAGE = "heads_page.py"


def darkness(colours: np.ndarray) -> np.ndarray:
    return 765 - colours.sum(-1)


@pytest.mark.parametrize("sink", ["keep", "hide", "renormalise"])
@pytest.mark.parametrize("show", ["weight", "score", "write", "disagreement"])
def test_pictures_of_a_b_and_their_difference_order_their_cells_as_numpy_does(
    open_heads: Open, show: str, sink: str
) -> None:
    """Within one sign a larger value is darker, to half of one of 127 colours; signs are blue and orange."""
    page = open_heads(f"b=1&heads=1&show={show}&sink={sink}&scale=linear")
    sides = [compared.on_axis(run, compared.measured(run, 0, show, sink)) for run in "ab"]
    for panel, values in enumerate([*sides, compared.difference(0, show, sink)]):
        colours = pixels(page, panel)
        signed = panel == 2 or show in ("score", "disagreement")
        limit = np.nanmax(np.abs(sides)) if panel < 2 and show != "weight" else np.nanmax(np.abs(values))
        for sign in (1, -1):
            chosen = np.sign(values) == sign
            order = np.argsort(np.abs(values[chosen]))
            sizes, dark = np.abs(values[chosen])[order], darkness(colours[chosen][order])
            clear = np.diff(sizes) > 0.03 * limit  # closer ones may share a colour
            assert (np.diff(dark)[clear] > 0).all()
            strong = colours[chosen & (np.abs(values) > 0.05 * limit)].astype(int)
            blue = strong[:, 2] - strong[:, 0]
            assert (blue * sign > 0).all() if signed else (blue > 0).all()


def test_absent_masked_and_hidden_cells_look_different_and_geometry_is_the_same(open_heads: Open) -> None:
    page = open_heads("b=1&heads=1&sink=hide")
    a, b, difference = (pixels(page, panel) for panel in range(3))
    absent = a[3, 1]  # A lacks place 3, B place 2
    for picture, places in [(a, [3]), (b, [2])]:
        for place in places:
            assert (picture[place] == absent).all()
            assert (picture[:, place] == absent).all()
    assert (difference[[2, 3]] == absent).all()
    assert (a[[0, 1, 2, 4, 5, 6], 0] == a[0, 0]).all()  # the hidden first token
    assert not (a[0, 0] == absent).all()
    assert not np.array_equal(a[0, 0], [255, 255, 255])
    expect(page.locator(".bars .legend")).to_contain_text("first token and other sinks hidden")
    boxes = [plot(page, panel).bounding_box() for panel in range(3)]
    assert len({(box["width"], box["height"]) for box in boxes if box}) == 1


def test_tooltips_give_both_values_and_the_signed_difference(open_heads: Open) -> None:
    page = open_heads("b=1&heads=1&show=write")
    query, key = 4, 1
    own = {run: compared.POSITIONS[run].index(3) for run in "ab"}
    assert set(own.values()) == {query}  # place 4 is position 3 in both
    for panel, run in enumerate("ab"):
        rows = point_at(page, panel, query, key)
        assert rows["title"] == f"L0H0 {run.upper()}"
        assert rows["query 4"] == LABELS[4]
        assert rows["key 1"] == LABELS[1]
        # The code's error of 2e-4, and what four digits or three decimals round away.
        assert number(rows["weight"]) == pytest.approx(compared.weights(run, 0)[3, 1], rel=7e-4)
        assert number(rows["score"]) == pytest.approx(compared.scores(run, 0)[3, 1], abs=7e-4)
        written = compared.measured(run, 0, "write", "keep")[3, 1]
        assert number(rows["value-weighted norm"]) == pytest.approx(written, rel=7e-4)
        larger = (compared.weights(run, 0)[3] > compared.weights(run, 0)[3, 1]).sum()
        assert rows["rank"] == f"{1 + larger} of 4"
    rows = point_at(page, 2, query, key)
    expected = compared.difference(0, "write", "keep")[query, key]
    assert number(rows["B − A"]) == pytest.approx(expected, abs=2e-3)
    assert rows["B − A"][0] == ("+" if expected > 0 else "−")
    assert number(rows["B"]) - number(rows["A"]) == pytest.approx(expected, abs=2e-3)
    rows = point_at(page, 2, query, 2)  # a key that only A has
    assert rows["key 2"] == f"{LABELS[2]} (only in A)"
    assert (rows["B"], rows["B − A"][0]) == ("absent", "−")


def largest_score(head: int) -> float:
    """In size, over both runs."""
    return max(float(np.abs(compared.scores(run, head)[~compared.MASKED]).max()) for run in "ab")


def test_the_legend_names_measure_unit_and_symmetric_limits(open_heads: Open) -> None:
    page = open_heads("b=1&heads=2&show=score")
    legend = page.locator(".bars .legend")
    expect(legend).to_contain_text("score before the softmax")
    largest = max(largest_score(head) for head in (0, 1))
    ticks = [number(text) for text in legend.locator(".entry").first.locator(".tick").all_inner_texts()]
    assert ticks[0] == -ticks[-1]
    assert ticks[-1] == pytest.approx(largest, rel=0.1)  # rounded up to two digits
    assert ticks[-1] >= largest - 1e-3
    assert ticks[2] == 0
    own = open_heads("b=1&heads=2&show=score&own=1")
    expect(own.locator(".range", has_text="±")).to_have_count(6)  # written as the panels come
    ranges = [number(text.replace("±", "")) for text in own.locator(".range").all_inner_texts()]
    for head in (0, 1):
        assert ranges[3 * head] == ranges[3 * head + 1] == pytest.approx(largest_score(head), rel=0.1)


def test_two_heads_of_one_run_are_held_against_each_other(open_heads: Open) -> None:
    page = open_heads("pair=1")
    expect(page.locator(".panel .side")).to_have_text(["L0H0", "L0H1", "L0H1 − L0H0"])
    rows = point_at(page, 2, 4, 1)
    expected = compared.weights("a", 1)[3, 1] - compared.weights("a", 0)[3, 1]
    assert number(rows["L0H1 − L0H0"]) == pytest.approx(expected, abs=1e-3)


def test_many_heads_scroll_and_are_drawn_when_they_come_into_sight(open_heads: Open) -> None:
    page = open_heads("size=32&heads=40")
    drawn = "canvases => canvases.filter((canvas) => canvas.width > 0).length"
    panels = page.locator(".panel .plot canvas:first-child")
    expect(panels).to_have_count(40)
    assert 6 <= panels.evaluate_all(drawn) < 20
    expect(page.locator(".more")).to_have_text("40 heads: scroll for the rest")
    area, last = page.locator(".panels").bounding_box(), page.locator(".panel").nth(39)
    assert area
    assert area["height"] < 1000
    last.scroll_into_view_if_needed()
    expect(panels.nth(39)).not_to_have_js_property("width", 0)
    expect(panels.nth(0)).to_have_js_property("width", 0)  # and gives its pixels back
    page.locator(".panels").focus()
    page.keyboard.press("PageDown")
    expect(page.locator(".panel").nth(1)).to_be_in_viewport()


def test_the_token_that_is_looked_from_is_in_sight_of_a_long_text(open_heads: Open) -> None:
    page = open_heads("size=600&heads=1")
    text, main = page.get_by_role("listbox"), page.get_by_test_id("stMain")
    place = text.get_by_role("option", name="·t599", exact=True)
    expect(place).to_have_class(re.compile("resting"))
    expect(place).to_be_in_viewport()
    assert main.evaluate("main => main.scrollTop") == 0
    text.evaluate("text => text.scrollTo(0, 100)")
    page.get_by_text("One head more").click()
    expect(text).to_have_accessible_name(re.compile("L0H1"))
    expect(page.locator(".panel")).to_have_count(2)
    assert text.evaluate("text => text.scrollTop") == 100  # another head of the same text
    click_at(page, 0, 500, 300, 600)
    expect(text.get_by_role("option", name="·t500", exact=True)).to_be_in_viewport()


def test_everything_has_a_role_and_a_name(open_heads: Open) -> None:
    page = open_heads("b=1&heads=1&sink=renormalise")
    application = page.get_by_role("application")
    expect(application).to_have_accessible_name(re.compile("attention weight of L0H0. Arrow keys"))
    expect(page.get_by_role("listbox")).to_have_count(3)
    expect(page.get_by_role("option")).to_have_count(3 * N_PLACES)
    expect(page.get_by_role("img", name="colour scale of attention weight, from 0 to 1")).to_be_visible()
    expect(page.locator(".bars .legend")).to_contain_text("the other weights of a row sum to 1")
    expect(page.locator(".bars .legend")).to_contain_text("only in A")


@pytest.mark.parametrize(("before", "stays"), [(4, False), (7, True)])
def test_a_head_that_joins_others_leaves_as_they_are_those_whose_place_is_as_large(
    open_heads: Open, before: int, stays: bool
) -> None:
    """Four heads are a large one and three beside it, five stand in lines; seven and eight stand alike."""
    page = open_heads(f"heads={before}&size=12")
    first = plot(page, 0).locator("canvas").first
    first.evaluate("""(canvas) => {
      const context = canvas.getContext("2d");
      const frame = context.strokeRect;
      context.strokeRect = (...box) => {
        canvas.dataset.painted = "again";
        frame.apply(context, box);
      };
    }""")
    page.get_by_text("One head more").click()
    expect(page.locator(".panel")).to_have_count(before + 1)
    expect(page.locator(".panel").nth(before).locator("strong")).to_have_text(f"L0H{before}")
    plot(page, before).scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    joined = [pixels(page, panel, 12) for panel in (0, before)]
    assert (first.get_attribute("data-painted") is None) == stays
    fresh = open_heads(f"heads={before + 1}&size=12")
    for panel, image in zip((0, before), joined, strict=True):
        np.testing.assert_array_equal(image, pixels(fresh, panel, 12))
