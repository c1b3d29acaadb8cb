"""The heads and the token strip of two runs in a browser: pixels, numbers, pins, zoom and keys, compared with numpy."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.app.components import compared
from tests.app.components.compared import LABELS, N_PLACES
from tests.app.components.conftest import FIRST_DRAWING

PAGE = "heads_page.py"
Open = Callable[[str], Page]


@pytest.fixture
def open_page(desktop: BrowserContext, address: str) -> Iterator[Open]:
    """Opens the page with a query string."""
    page = desktop.new_page()

    def opened(query: str) -> Page:
        page.goto(f"{address}/?{query}")
        expect(page.locator(".panels .panel canvas").first).not_to_have_js_property("width", 0, timeout=FIRST_DRAWING)
        return page

    yield opened
    page.close()


def pitch_of(page: Page, panel: int, n_places: int) -> tuple[float, float]:
    """How far a panel's matrix is from the left of its plot, and its cells from one another."""
    figure = page.locator(".panel").nth(panel)
    figure.scroll_into_view_if_needed()
    title, plot = figure.locator("figcaption").bounding_box(), figure.locator(".plot").bounding_box()
    assert title
    assert plot
    return title["x"] - plot["x"], title["width"] / n_places  # the title is as wide as the matrix


def middle(left: float, pitch: float, query: int, key: int) -> tuple[float, float]:
    return left + (key + 0.5) * pitch, 6 + (query + 0.5) * pitch  # the matrix begins 6 pixels down


def centre(page: Page, panel: int, query: int, key: int, n_places: int = N_PLACES) -> tuple[float, float]:
    """Where a cell's middle lies in a panel's plot."""
    return middle(*pitch_of(page, panel, n_places), query, key)


def plot(page: Page, panel: int) -> Locator:
    return page.locator(".panel .plot").nth(panel)


def point_at(page: Page, panel: int, query: int, key: int) -> dict[str, str]:
    """The tooltip's rows with the pointer on a cell."""
    x, y = centre(page, panel, query, key)
    plot(page, panel).hover(position={"x": x, "y": y})
    return tooltip(page)


def click_at(page: Page, panel: int, query: int, key: int) -> None:
    x, y = centre(page, panel, query, key)
    plot(page, panel).click(position={"x": x, "y": y})


def tooltip(page: Page) -> dict[str, str]:
    script = """(box) => {
      const rows = Array.from(box.querySelectorAll("dt"), (name) => [name.textContent, name.nextSibling.textContent]);
      return { title: box.querySelector("strong").textContent, ...Object.fromEntries(rows) };
    }"""
    return page.locator(".tooltip:popover-open").evaluate(script)


def pixels(page: Page, panel: int, n_places: int = N_PLACES) -> np.ndarray:
    """The colour in the middle of every cell [query, key, rgb]."""
    left, pitch = pitch_of(page, panel, n_places)
    points = [middle(left, pitch, query, key) for query in range(n_places) for key in range(n_places)]
    script = """(canvas, points) => {
      const ratio = canvas.width / canvas.clientWidth;
      const context = canvas.getContext("2d");
      return points.map(([x, y]) => Array.from(context.getImageData(x * ratio, y * ratio, 1, 1).data.slice(0, 3)));
    }"""
    found = plot(page, panel).locator("canvas").first.evaluate(script, points)
    return np.array(found).reshape(n_places, n_places, 3)


def number(text: str) -> float:
    return float(text.replace("−", "-").replace("+", ""))


def darkness(colours: np.ndarray) -> np.ndarray:
    return 765 - colours.sum(-1)


@pytest.mark.parametrize("sink", ["keep", "hide", "renormalise"])
@pytest.mark.parametrize("show", ["weight", "score", "write", "disagreement"])
def test_pictures_of_a_b_and_their_difference_order_their_cells_as_numpy_does(
    open_page: Open, show: str, sink: str
) -> None:
    """Within one sign a larger value is darker, to half of one of 127 colours; signs are blue and orange."""
    page = open_page(f"b=1&heads=1&show={show}&sink={sink}&scale=linear")
    shown = [compared.on_axis(run, compared.measured(run, 0, show, sink)) for run in "ab"]
    for panel, values in enumerate([*shown, compared.difference(0, show, sink)]):
        colours = pixels(page, panel)
        signed = panel == 2 or show in ("score", "disagreement")
        limit = np.nanmax(np.abs(shown)) if panel < 2 and show != "weight" else np.nanmax(np.abs(values))
        for sign in (1, -1):
            chosen = np.sign(values) == sign
            order = np.argsort(np.abs(values[chosen]))
            sizes, dark = np.abs(values[chosen])[order], darkness(colours[chosen][order])
            clear = np.diff(sizes) > 0.03 * limit  # closer ones may share a colour
            assert (np.diff(dark)[clear] > 0).all()
            strong = colours[chosen & (np.abs(values) > 0.05 * limit)].astype(int)
            blue = strong[:, 2] - strong[:, 0]
            assert (blue * sign > 0).all() if signed else (blue > 0).all()


def test_absent_masked_and_hidden_cells_look_different_and_geometry_is_the_same(open_page: Open) -> None:
    page = open_page("b=1&heads=1&sink=hide")
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
    expect(page.locator(".bars .legend")).to_contain_text("first token hidden")
    boxes = [plot(page, panel).bounding_box() for panel in range(3)]
    assert len({(box["width"], box["height"]) for box in boxes if box}) == 1


def test_tooltips_give_both_values_and_the_signed_difference(open_page: Open) -> None:
    page = open_page("b=1&heads=1&show=write")
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


def test_the_legend_names_measure_unit_and_symmetric_limits(open_page: Open) -> None:
    page = open_page("b=1&heads=2&show=score")
    legend = page.locator(".bars .legend")
    expect(legend).to_contain_text("score before the softmax (nats)")
    largest = max(largest_score(head) for head in (0, 1))
    ticks = [number(text) for text in legend.locator(".entry").first.locator(".tick").all_inner_texts()]
    assert ticks[0] == -ticks[-1]
    assert ticks[-1] == pytest.approx(largest, rel=0.1)  # rounded up to two digits
    assert ticks[-1] >= largest - 1e-3
    assert ticks[2] == 0
    own = open_page("b=1&heads=2&show=score&own=1")
    ranges = [number(text.replace("±", "")) for text in own.locator(".range").all_inner_texts()]
    for head in (0, 1):
        assert ranges[3 * head] == ranges[3 * head + 1] == pytest.approx(largest_score(head), rel=0.1)


def test_two_heads_of_one_run_are_held_against_each_other(open_page: Open) -> None:
    page = open_page("pair=1")
    expect(page.locator(".panel .side")).to_have_text(["L0H0", "L0H1", "L0H1 − L0H0"])
    rows = point_at(page, 2, 4, 1)
    expected = compared.weights("a", 1)[3, 1] - compared.weights("a", 0)[3, 1]
    assert number(rows["L0H1 − L0H0"]) == pytest.approx(expected, abs=1e-3)


def test_pinned_tokens_are_summed_in_strip_and_heads(open_page: Open) -> None:
    page = open_page("heads=1")
    chips = page.locator(".chip")
    chips.nth(4).click()
    expect(page.get_by_text("pinned Pin(queries=(4,), keys=())")).to_be_visible()
    chips.nth(6).click(modifiers=["ControlOrMeta"])
    expect(page.get_by_text("pinned Pin(queries=(4, 6), keys=())")).to_be_visible()
    chips.nth(1).hover()
    weights = compared.on_axis("a", compared.weights("a", 0))
    rows = tooltip(page)
    assert number(rows["sum over 2 tokens"]) == pytest.approx(weights[[4, 6], 1].sum(), rel=1e-3)
    assert number(point_at(page, 0, 4, 1)["sum of 2 queries"]) == pytest.approx(weights[[4, 6], 1].sum(), rel=1e-3)
    page.get_by_text("to the token").click()  # the same tokens, now as keys
    expect(page.get_by_text("pinned Pin(queries=(), keys=(4, 6))")).to_be_visible()
    chips.nth(6).hover()
    assert number(tooltip(page)["sum over 2 tokens"]) == pytest.approx(weights[6, [4, 6]].sum(), rel=1e-3)
    chips.nth(4).click(modifiers=["Shift"])
    expect(page.get_by_text("pinned Pin(queries=(), keys=(6,))")).to_be_visible()


def test_scores_of_several_tokens_are_averaged_in_a_b_and_the_difference(open_page: Open) -> None:
    page = open_page("b=1&heads=1&show=score")
    chips = page.locator(".line").nth(2).locator(".chip")
    chips.nth(4).click()
    chips.nth(6).click(modifiers=["ControlOrMeta"])
    chips.nth(1).hover()
    expected = compared.difference(0, "score", "keep")[[4, 6], 1].mean()
    assert number(tooltip(page)["mean over 2 tokens"]) == pytest.approx(expected, abs=2e-3)


def test_strip_shows_a_b_and_the_difference_and_is_used_by_keyboard(open_page: Open) -> None:
    page = open_page("b=1&heads=1")
    expect(page.locator(".line .side")).to_have_text(["A", "B", "B − A"])
    page.locator(".chips").nth(2).focus()
    for press in ["End", "ArrowLeft", "ArrowLeft", " "]:
        page.keyboard.press(press)
    expect(page.get_by_text("pinned Pin(queries=(4,), keys=())")).to_be_visible()
    for press in ["End", "+"]:
        page.keyboard.press(press)
    expect(page.get_by_text("pinned Pin(queries=(4, 6), keys=())")).to_be_visible()
    page.keyboard.press("Home")
    expected = compared.difference(0, "weight", "keep")[[4, 6], 0].sum()
    assert number(tooltip(page)["sum over 2 tokens"]) == pytest.approx(expected, abs=2e-3)
    live = page.locator(".live").first.inner_text()
    assert LABELS[0] in live
    colour = page.locator(".line").nth(2).locator(".chip").first.evaluate("chip => chip.style.background")
    red, _, blue = map(int, re.findall(r"\d+", colour)[:3])
    assert (blue - red) * expected > 0
    page.keyboard.press("Enter")
    expect(page.get_by_text("pinned Pin(queries=(0,), keys=())")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("pinned None")).to_be_visible()


def test_heads_are_used_by_keyboard(open_page: Open) -> None:
    page = open_page("b=1&heads=1")
    click_at(page, 0, 4, 1)
    expect(page.get_by_text("pinned Pin(queries=(4,), keys=(1,))")).to_be_visible()
    expect(page.locator(".panel").first).to_have_class(re.compile("active"))
    for press in ["ArrowDown", "End", "ArrowLeft"]:
        page.keyboard.press(press)
    expect(page.get_by_text("pinned Pin(queries=(5,), keys=(5,))")).to_be_visible()
    weight = compared.weights("a", 0)[4, 4]
    assert number(tooltip(page)["weight"]) == pytest.approx(weight, rel=7e-4)
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    expect(page.locator(".panel").nth(2)).to_have_class(re.compile("active"))
    difference = compared.difference(0, "weight", "keep")[5, 5]
    assert number(tooltip(page)["B − A"]) == pytest.approx(difference, abs=1e-3)
    live = page.locator(".live").last
    expect(live).to_contain_text("L0H0 B − A")
    expect(live).to_contain_text(LABELS[5])
    page.keyboard.press("Control+Home")
    expect(page.get_by_text("pinned Pin(queries=(0,), keys=(0,))")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("pinned None")).to_be_visible()


def drag(page: Page, panel: int, start: tuple[int, int], end: tuple[int, int], n_places: int = N_PLACES) -> None:
    points = [centre(page, panel, *cell, n_places) for cell in (start, end)]
    area = plot(page, panel).bounding_box()
    assert area
    (x0, y0), (x1, y1) = [(area["x"] + x, area["y"] + y) for x, y in points]
    page.mouse.move(x0, y0)
    page.mouse.down()
    page.mouse.move((x0 + x1) / 2, (y0 + y1) / 2)
    page.mouse.move(x1, y1)
    page.mouse.up()


def test_a_dragged_rectangle_zooms_all_panels_and_a_double_click_ends_it(open_page: Open) -> None:
    page = open_page("b=1&heads=1")
    whole = pixels(page, 1)
    drag(page, 0, (4, 0), (5, 1))
    line = page.locator(".zoom-bar")
    expect(line).to_contain_text("zoomed: queries 4–5, keys 0–1 · reset")
    np.testing.assert_array_equal(pixels(page, 1, 2), whole[4:6, 0:2])
    x, y = centre(page, 2, 1, 1, 2)
    plot(page, 2).hover(position={"x": x, "y": y})
    expected = compared.difference(0, "weight", "keep")[5, 1]
    assert number(tooltip(page)["B − A"]) == pytest.approx(expected, abs=1e-3)
    expect(page.get_by_text("pinned None")).to_be_visible()  # a drag is no click
    plot(page, 2).dblclick(position={"x": x, "y": y})
    expect(line).to_be_hidden()
    np.testing.assert_array_equal(pixels(page, 1), whole)
    expect(page.get_by_text("pinned None")).to_be_visible()


def test_zoom_by_wheel_keys_and_button(open_page: Open) -> None:
    page = open_page("size=300&heads=2")
    line = page.locator(".zoom-bar")
    expect(line).to_contain_text("drag a rectangle to zoom")
    x, y = centre(page, 0, 200, 100, 300)
    plot(page, 0).hover(position={"x": x, "y": y})
    page.mouse.wheel(0, -200)  # without Ctrl it scrolls the page
    expect(line).to_contain_text("drag a rectangle to zoom")
    plot(page, 0).hover(position={"x": x, "y": y})
    page.keyboard.down("Control")
    for _ in range(12):
        page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    expect(line).to_contain_text(re.compile(r"zoomed: queries \d+, keys \d+ · reset"))  # one cell
    query, key = map(int, re.findall(r"\d+", line.inner_text()))
    assert (query, key) == (pytest.approx(200, abs=6), pytest.approx(100, abs=6))  # each step rounds to whole cells
    plot(page, 0).hover(position={"x": x, "y": y})
    assert tooltip(page)[f"query {query}"] == f"·t{query}"
    page.locator(".panels").focus()
    page.keyboard.press("-")
    expect(line).to_contain_text("–")
    page.keyboard.press("0")
    expect(line).to_contain_text("drag a rectangle to zoom")
    page.get_by_role("button", name="zoom in").click()
    expect(line).to_contain_text("zoomed: queries 56–242, keys 56–242 · reset")  # 300 / 1.6 around the middle
    line.get_by_text("reset").click()
    expect(line).to_contain_text("drag a rectangle to zoom")


def test_an_arrow_key_moves_what_is_zoomed_along(open_page: Open) -> None:
    page = open_page("heads=1")
    drag(page, 0, (4, 0), (5, 1))
    page.locator(".panels").focus()
    page.keyboard.press("ArrowRight")  # the first cell of what is seen
    expect(page.get_by_text("pinned Pin(queries=(4,), keys=(0,))")).to_be_visible()
    page.keyboard.press("End")
    expect(page.locator(".zoom-bar")).to_contain_text("zoomed: queries 4–5, keys 5–6")
    page.keyboard.press("Escape")
    expect(page.locator(".zoom-bar")).to_be_hidden()
    expect(page.get_by_text("pinned Pin(queries=(4,), keys=(6,))")).to_be_visible()  # Escape ended the zoom alone


def test_many_heads_scroll_and_are_drawn_when_they_come_into_sight(open_page: Open) -> None:
    page = open_page("size=32&heads=40")
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


def test_a_finger_scrolls_the_page_and_pins_by_a_tap(browser: Browser, address: str) -> None:
    options: dict[str, Any] = {"viewport": {"width": 390, "height": 700}, "has_touch": True, "is_mobile": True}
    context = browser.new_context(**options)
    page = context.new_page()
    page.goto(f"{address}/?b=1&heads=2")
    canvas = page.locator(".panel .marks").first
    expect(canvas).not_to_have_js_property("width", 0, timeout=FIRST_DRAWING)
    x, y = centre(page, 0, 4, 1)
    plot(page, 0).tap(position={"x": x, "y": y})
    expect(page.get_by_text("pinned Pin(queries=(4,), keys=(1,))")).to_be_attached()
    area = plot(page, 0).bounding_box()
    assert area
    main = page.get_by_test_id("stMain")
    before = main.evaluate("main => main.scrollTop")
    touches = [{"x": area["x"] + x, "y": area["y"] + y - moved} for moved in range(0, 160, 15)]
    client = context.new_cdp_session(page)
    for index, touch in enumerate(touches):
        kind = "touchMove" if index else "touchStart"
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [touch]})
    client.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert main.evaluate("main => main.scrollTop") > before + 50
    expect(page.locator(".zoom-bar")).to_be_hidden()
    assert main.evaluate("main => main.scrollWidth <= main.clientWidth")
    context.close()


def test_everything_has_a_role_and_a_name(open_page: Open) -> None:
    page = open_page("b=1&heads=1&sink=renormalise")
    application = page.get_by_role("application")
    expect(application).to_have_accessible_name(re.compile("attention weight of L0H0. Arrow keys"))
    expect(page.get_by_role("listbox")).to_have_count(3)
    expect(page.get_by_role("option")).to_have_count(3 * N_PLACES)
    expect(page.get_by_role("img", name="colour scale of attention weight, from 0 to 1")).to_be_visible()
    expect(page.locator(".bars .legend")).to_contain_text("the other weights of a row sum to 1")
    expect(page.locator(".bars .legend")).to_contain_text("only in A")


@pytest.mark.parametrize(("before", "stays"), [(3, False), (7, True)])
def test_a_head_that_joins_others_leaves_as_they_are_those_whose_place_is_as_large(
    open_page: Open, before: int, stays: bool
) -> None:
    """Three heads stand in one line and four in two; seven and eight stand alike."""
    page = open_page(f"heads={before}&size=12")
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
    fresh = open_page(f"heads={before + 1}&size=12")
    for panel, found in zip((0, before), joined, strict=True):
        np.testing.assert_array_equal(found, pixels(fresh, panel, 12))
