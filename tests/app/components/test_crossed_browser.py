"""The heads and the strip of two sequences in a browser: pixels, numbers, pins, zoom and keys, compared with numpy."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from headlight.app.components import HeadPanels, Pin, heads
from headlight.app.components.shared.mount import recorded
from tests.app.components import crossed, panels
from tests.app.components.conftest import FIRST_DRAWING, go
from tests.app.components.crossed import HOSTILE, PADDED, SHAPE, SOURCES, TARGETS
from tests.app.components.panels import plot, tooltip

PAGE = "crossed_page.py"
WEIGHTS = crossed.weights(0)
Open = Callable[[str], Page]


@pytest.fixture
def open_page(tab: Page, address: str) -> Open:
    """Opens the page with a query string."""

    def opened(query: str) -> Page:
        go(tab, f"{address}&{query}")
        wait_for_drawing(tab)
        return tab

    return opened


def wait_for_drawing(page: Page) -> None:
    expect(page.locator(".panel canvas").first).not_to_have_js_property("width", 0, timeout=FIRST_DRAWING)
    expect(page.locator(".chip")).to_have_count(sum(SHAPE))


def centre(page: Page, query: int, key: int) -> tuple[float, float]:
    """Where a cell's middle lies in the first head's plot: cells are squares, and the title as wide as most of them."""
    return panels.centre(page, 0, query, key, max(SHAPE))


def point_at(page: Page, query: int, key: int) -> dict[str, str]:
    """The tooltip's rows with the pointer on a cell of the first head."""
    return panels.point_at(page, 0, query, key, max(SHAPE))


def click_at(page: Page, query: int, key: int) -> None:
    panels.click_at(page, 0, query, key, max(SHAPE))


def line(page: Page, name: str) -> Locator:
    """The chips of the line Source or Target."""
    return page.get_by_role("listbox", name=f"{name} tokens").locator(".chip")


def darkness(colours: list[str]) -> list[int]:
    """How far each CSS colour is from white; -1 where there is none."""
    return [765 - sum(map(int, re.findall(r"\d+", colour)[:3])) if colour else -1 for colour in colours]


def from_dark(chips: Locator) -> list[int]:
    """The tokens from the darkest to the lightest."""
    backgrounds = chips.evaluate_all("chips => chips.map((chip) => chip.style.background)")
    return np.argsort(-np.array(darkness(backgrounds)), stable=True).tolist()


def test_a_pin_beyond_either_sequence_is_none() -> None:
    """Nine targets and twelve sources: a source may be where no target is."""
    inside, beyond = Pin((8,), (11,)), [Pin((9,), (0,)), Pin((0,), (12,)), Pin((), (12,))]
    with recorded():
        pins = [
            heads(
                HeadPanels([], crossed.ROWS, columns=crossed.COLUMNS), pinned=pin, epoch=0, key="heads", group="cross"
            )
            for pin in [inside, *beyond]
        ]
    assert pins == [inside, None, None, None]


def test_every_cell_of_a_rectangle_is_as_dark_as_its_weight(open_page: Open) -> None:
    page = open_page("heads=1")
    cells = [(query, key) for query in range(SHAPE[0]) for key in range(SHAPE[1])]
    script = """(canvas, points) => {
      const ratio = canvas.width / canvas.clientWidth;
      const context = canvas.getContext("2d");
      return points.map(([x, y]) => `${context.getImageData(x * ratio, y * ratio, 1, 1).data}`);
    }"""
    cell_colours = plot(page, 0).locator("canvas").first.evaluate(script, [centre(page, *cell) for cell in cells])
    dark = np.array(darkness(cell_colours)).reshape(SHAPE)[:, :PADDED]
    expected = np.sqrt(WEIGHTS[:, :PADDED])
    order = np.argsort(expected, axis=None)
    clear = np.diff(expected.ravel()[order]) > 1 / 255  # closer ones share a colour
    assert (np.diff(dark.ravel()[order])[clear] > 0).all()
    assert clear.sum() > 30
    expect(page.locator(".bars .legend")).to_contain_text("masked")


def test_tooltips_name_the_target_and_the_source(open_page: Open) -> None:
    page = open_page("heads=1")
    query, key = 2, 10  # a source beyond the last target
    rows = point_at(page, query, key)
    assert (rows["query 2"], rows["key 10"]) == (TARGETS[2], SOURCES[10])
    # The code's error of 2e-4, and what four digits or three decimals round away.
    assert float(rows["weight"]) == pytest.approx(WEIGHTS[query, key], rel=7e-4)
    assert float(rows["score"]) == pytest.approx(crossed.scores(0)[query, key], abs=7e-4)
    assert float(rows["value-weighted norm"]) == pytest.approx(
        crossed.measured(0, "write", "keep")[query, key], rel=7e-4
    )
    assert rows["rank"] == f"{1 + (WEIGHTS[query] > WEIGHTS[query, key]).sum()} of {PADDED}"
    assert point_at(page, 8, PADDED)["weight"] == "masked"


def test_own_scales_end_at_each_heads_largest_value(open_page: Open) -> None:
    page = open_page("heads=2&show=write&sink=renormalise&own=1")
    ranges = [float(text.removeprefix("0 – ")) for text in page.locator(".range").all_inner_texts()]
    for head, end in enumerate(ranges):
        largest = np.nanmax(crossed.measured(head, "write", "renormalise"))
        assert largest * 0.999 <= end <= largest * 1.1  # rounded up to two digits
    expect(page.locator(".bars .legend")).to_contain_text("first token and other sinks hidden")
    assert line(page, "Source").first.get_attribute("class") == "chip both"
    line(page, "Target").first.hover()
    assert line(page, "Source").first.get_attribute("class") == "chip both hidden"


def test_keys_go_to_the_ends_of_both_sequences(open_page: Open) -> None:
    page = open_page("heads=2")
    click_at(page, 7, 4)
    expect(page.get_by_text("pinned Pin(queries=(7,), keys=(4,))")).to_be_visible()
    for press in ["ArrowDown", "ArrowDown", "End", "ArrowRight"]:
        page.keyboard.press(press)
    expect(page.get_by_text("pinned Pin(queries=(8,), keys=(11,))")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    assert float(tooltip(page)["weight"]) == pytest.approx(WEIGHTS[8, 10], rel=7e-4)
    expect(page.locator(".live").last).to_contain_text(f"query 8 {TARGETS[8]} key 10 {SOURCES[10]} weight")
    page.keyboard.press("Control+Home")
    expect(page.get_by_text("pinned Pin(queries=(0,), keys=(0,))")).to_be_visible()
    page.keyboard.press("Control+End")
    expect(page.get_by_text("pinned Pin(queries=(8,), keys=(11,))")).to_be_visible()
    page.keyboard.press("+")
    expect(page.locator(".zoom-bar")).to_contain_text("zoomed: queries 4–8, keys 5–11 · reset")  # 9 and 12 over 1.6
    page.keyboard.press("0")
    expect(page.locator(".zoom-bar")).to_be_hidden()


def test_a_dragged_rectangle_may_lie_beyond_the_square(open_page: Open) -> None:
    page = open_page("heads=1")
    area = plot(page, 0).bounding_box()
    assert area
    (x, y), (to_x, to_y) = centre(page, 6, 9), centre(page, 8, 11)
    page.mouse.move(area["x"] + x, area["y"] + y)
    page.mouse.down()
    page.mouse.move(area["x"] + to_x, area["y"] + to_y)
    page.mouse.move(area["x"] + area["width"] + 50, area["y"] + to_y)  # beyond the plot the nearest cell counts
    page.mouse.up()
    expect(page.locator(".zoom-bar")).to_contain_text("zoomed: queries 6–8, keys 9–11 · reset")
    rows = point_at(page, 0, 0)  # now target 6 and source 9
    assert (rows["query 6"], rows["key 9"]) == (TARGETS[6], SOURCES[9])


def test_a_target_colours_the_sources_and_a_source_the_targets(open_page: Open) -> None:
    page = open_page("heads=1")
    source, target = line(page, "Source"), line(page, "Target")
    expected = [[label.replace("<s>", "⟨bos⟩") for label in labels] for labels in (SOURCES, TARGETS)]
    assert [source.all_text_contents(), target.all_text_contents()] == expected
    expect(page.locator(".line .side")).to_have_text(["Source", "Target"])
    expect(page.get_by_text("to the token")).to_be_hidden()
    target.nth(5).hover()
    assert from_dark(source)[:4] == np.argsort(-WEIGHTS[5])[:4].tolist()
    assert source.nth(PADDED).get_attribute("class") == "chip both masked"
    assert max(darkness(target.evaluate_all("chips => chips.map((chip) => chip.style.background)"))) == -1
    strongest = np.argsort(-WEIGHTS[5])[:3]
    assert list(tooltip(page))[1:] == [f"→ {SOURCES[key]} {key}" for key in strongest]
    source.nth(9).hover()
    assert from_dark(target)[:4] == np.argsort(-WEIGHTS[:, 9])[:4].tolist()
    strongest = np.argsort(-WEIGHTS[:, 9])[:3]
    assert list(tooltip(page))[1:] == [f"← {TARGETS[query]} {query}" for query in strongest]


def test_the_heatmap_lights_both_lines_and_they_the_heatmap(open_page: Open) -> None:
    page = open_page("heads=1")
    source, target = line(page, "Source"), line(page, "Target")
    point_at(page, 3, 10)
    assert page.locator(".chip.hovered").all_text_contents() == [SOURCES[10], TARGETS[3]]
    assert from_dark(source)[0] == WEIGHTS[3].argmax()
    assert from_dark(target)[0] == WEIGHTS[:, 10].argmax()
    target.nth(4).click()
    expect(page.get_by_text("pinned Pin(queries=(4,), keys=())")).to_be_visible()
    source.nth(10).hover()
    assert float(page.locator(".readout").inner_text().split()[-1]) == pytest.approx(WEIGHTS[4, 10], rel=7e-4)
    assert float(tooltip(page)["weight"]) == pytest.approx(WEIGHTS[4, 10], rel=7e-4)
    target.nth(7).click(modifiers=["ControlOrMeta"])
    expect(page.get_by_text("pinned Pin(queries=(4, 7), keys=())")).to_be_visible()
    source.nth(10).hover()
    assert float(tooltip(page)["sum over 2 tokens"]) == pytest.approx(WEIGHTS[[4, 7], 10].sum(), rel=1e-3)
    source.nth(10).click()
    expect(page.get_by_text("pinned Pin(queries=(), keys=(10,))")).to_be_visible()
    click_at(page, 2, 6)
    expect(page.locator(".chip.pinned")).to_have_text([SOURCES[6], TARGETS[2]])


def test_both_lines_are_used_by_keyboard(open_page: Open) -> None:
    page = open_page("heads=1")
    page.get_by_role("listbox", name="Target tokens").focus()
    for press in ["End", "Enter"]:
        page.keyboard.press(press)
    expect(page.get_by_text("pinned Pin(queries=(8,), keys=())")).to_be_visible()
    page.get_by_role("listbox", name="Source tokens").focus()
    for press in ["End", "ArrowLeft"]:
        page.keyboard.press(press)
    assert float(tooltip(page)["weight"]) == pytest.approx(WEIGHTS[8, 10], rel=7e-4)
    expect(page.locator(".live").first).to_contain_text(f"{SOURCES[10]} 10 query 8 {TARGETS[8]} key 10 {SOURCES[10]}")
    page.keyboard.press(" ")
    expect(page.get_by_text("pinned Pin(queries=(), keys=(10,))")).to_be_visible()
    chosen = page.get_by_role("option", selected=True)
    expect(chosen).to_have_text([SOURCES[10]])
    page.keyboard.press("Escape")
    expect(page.get_by_text("pinned None")).to_be_visible()


def test_a_dark_phone_shows_both_sequences_as_text(browser: Browser, address: str) -> None:
    context = browser.new_context(color_scheme="dark", viewport={"width": 390, "height": 844}, device_scale_factor=3)
    page = context.new_page()
    page.goto(f"{address}&heads=1")
    wait_for_drawing(page)
    assert line(page, "Target").nth(4).text_content() == HOSTILE
    assert page.locator("img[src=x]").count() == 0
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollWidth <= main.clientWidth")
    rows = point_at(page, 0, 4)
    assert (rows["query 0"], rows["key 4"]) == (TARGETS[0], SOURCES[4])
    context.close()


def test_texts_that_do_not_fit_on_a_line_are_columns_with_lines_between_them(open_page: Open) -> None:
    page = open_page("heads=1")
    page.set_viewport_size({"width": 390, "height": 900})
    body = page.locator(".body.joined.columns")
    expect(body).to_be_visible()
    boxes = [[chip.bounding_box() for chip in line(page, name).all()] for name in ("Source", "Target")]
    sources, targets = ([box for box in side if box is not None] for side in boxes)
    ends, begins = {round(box["x"] + box["width"]) for box in sources}, {round(box["x"]) for box in targets}
    assert len(ends) == len(begins) == 1
    for side in (sources, targets):
        assert [box["y"] for box in side] == sorted({box["y"] for box in side})
    # Nothing is drawn beside the gap between the columns, in which every word would be crossed.
    script = """canvas => {
        const { width, height } = canvas;
        const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
        const alpha = (x) => Array.from({ length: height }, (_, y) => data[4 * (y * width + x) + 3]);
        const drawn = Array.from({ length: width }, (_, x) => x).filter((x) => alpha(x).some(Boolean));
        const { left } = canvas.getBoundingClientRect();
        return [drawn[0], drawn.at(-1)].map((x) => left + x / devicePixelRatio);
    }"""
    first, last = page.locator(".body .lines").evaluate(script)
    assert ends.pop() <= first < last <= begins.pop()


def test_lines_between_long_texts_on_a_phone_cross_no_words(tab: Page, address: str) -> None:
    tab.set_viewport_size({"width": 390, "height": 900})
    go(tab, f"{address}&heads=1&times=3")
    expect(tab.locator(".body.joined.columns")).to_be_visible(timeout=FIRST_DRAWING)
    go(tab, f"{address}&heads=1&times=4")
    expect(tab.locator(".body.wrapped:not(.joined)")).to_be_visible(timeout=FIRST_DRAWING)
    drawn = "canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(Boolean)"
    assert not tab.locator(".body .lines").evaluate(f"canvas => canvas.width > 0 && ({drawn})(canvas)")
