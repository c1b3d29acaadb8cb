"""The heads and the token strip of two runs in use: pins, keys, zoom and touch, compared with numpy."""

import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app.components import compared
from tests.app.components.compared import LABELS, N_PLACES
from tests.app.components.conftest import FIRST_DRAWING
from tests.app.components.panels import Open, centre, click_at, number, pixels, plot, point_at, tooltip

PAGE = "heads_page.py"


def test_pinned_tokens_are_summed_in_strip_and_heads(open_heads: Open) -> None:
    page = open_heads("heads=1")
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


def test_a_text_that_has_not_heard_of_the_next_one_takes_no_pin_of_it(open_heads: Open) -> None:
    """Components hear of a run one after the other, so that heads can pin what the strip does not have yet."""
    page = open_heads("heads=1&size=12&earlier")
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    click_at(page, 0, N_PLACES + 3, N_PLACES + 1, 12)
    expect(page.get_by_text(f"pinned Pin(queries=({N_PLACES + 3},), keys=({N_PLACES + 1},))")).to_be_visible()
    expect(page.locator(".chip.pinned")).to_have_count(0)
    click_at(page, 0, 2, 1, 12)
    expect(page.locator(".chip.pinned")).to_have_count(2)
    assert wrong == []


def test_scores_of_several_tokens_are_averaged_in_a_b_and_the_difference(open_heads: Open) -> None:
    page = open_heads("b=1&heads=1&show=score")
    chips = page.locator(".line").nth(2).locator(".chip")
    chips.nth(4).click()
    chips.nth(6).click(modifiers=["ControlOrMeta"])
    chips.nth(1).hover()
    expected = compared.difference(0, "score", "keep")[[4, 6], 1].mean()
    assert number(tooltip(page)["mean over 2 tokens"]) == pytest.approx(expected, abs=2e-3)


def test_strip_shows_a_b_and_the_difference_and_is_used_by_keyboard(open_heads: Open) -> None:
    page = open_heads("b=1&heads=1")
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


def test_heads_are_used_by_keyboard(open_heads: Open) -> None:
    page = open_heads("b=1&heads=1")
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


def test_a_dragged_rectangle_zooms_all_panels_and_a_double_click_ends_it(open_heads: Open) -> None:
    page = open_heads("b=1&heads=1")
    whole, place = pixels(page, 1), plot(page, 0).bounding_box()
    drag(page, 0, (4, 0), (5, 1))
    line = page.locator(".zoom-bar")
    expect(line).to_contain_text("zoomed: queries 4–5, keys 0–1 · reset")
    assert plot(page, 0).bounding_box() == place  # nothing moves under the pointer
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


def test_zoom_by_wheel_keys_and_button(open_heads: Open) -> None:
    page = open_heads("size=300&heads=2")
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


def test_an_arrow_key_moves_what_is_zoomed_along(open_heads: Open) -> None:
    page = open_heads("heads=1")
    drag(page, 0, (4, 0), (5, 1))
    page.locator(".panels").focus()
    page.keyboard.press("ArrowRight")  # the first cell of what is seen
    expect(page.get_by_text("pinned Pin(queries=(4,), keys=(0,))")).to_be_visible()
    page.keyboard.press("End")
    expect(page.locator(".zoom-bar")).to_contain_text("zoomed: queries 4–5, keys 5–6")
    page.keyboard.press("Escape")
    expect(page.locator(".zoom-bar")).to_be_hidden()
    expect(page.get_by_text("pinned Pin(queries=(4,), keys=(6,))")).to_be_visible()  # Escape ended the zoom alone


def test_a_finger_scrolls_the_page_and_pins_by_a_tap(browser: Browser, address: str) -> None:
    options: dict[str, Any] = {"viewport": {"width": 390, "height": 700}, "has_touch": True, "is_mobile": True}
    context = browser.new_context(**options)
    page = context.new_page()
    page.goto(f"{address}&b=1&heads=2")
    plot(page, 0).scroll_into_view_if_needed(timeout=FIRST_DRAWING)  # the text stands above it
    canvas = page.locator(".panel .marks").first
    expect(canvas).not_to_have_js_property("width", 0)
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
