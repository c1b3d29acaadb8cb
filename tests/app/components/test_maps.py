"""Maps in a browser: pixels, tooltips and keys, compared with the arrays that the page was given."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from headlight.app import components
from tests.app.components.conftest import FIRST_DRAWING, go
from tests.app.components.maps_page import DEEP, MANY, NORMS, TOKENS
from tests.e2e.settling import settle

PAGE = "maps_page.py"
TICKS = [Path(components.__file__).parent / "shared" / name for name in ("text.js", "ticks.js")]
PICTURES = 5
WHITE = (255, 255, 255)
ROW, ABOVE = 20, 18  # CSS pixels of a map: a row's height, and what is over the first


@pytest.fixture(scope="module")
def page(desktop: BrowserContext, address: str) -> Iterator[Page]:
    """The page with everything drawn, for all tests."""
    page = go(desktop.new_page(), address)
    expect(page.locator(".legend .entry").last).to_be_visible(timeout=FIRST_DRAWING)
    expect(page.locator(".stage")).to_have_count(PICTURES)
    yield page
    page.close()


@pytest.fixture(scope="module")
def scripts(browser: Browser) -> Iterator[Page]:
    """An empty page with the axes' arithmetic as its globals."""
    page = browser.new_page()
    page.add_script_tag(content="\n".join(path.read_text(encoding="utf-8") for path in TICKS))
    yield page
    page.close()


@pytest.fixture(autouse=True)
def nothing_pointed_at(page: Page) -> None:
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")


def picture(page: Page, place: int) -> Locator:
    """One of the pictures by its place on the page."""
    return page.locator(".stage").nth(place)


def row(stage: Locator, y: float) -> list[tuple[int, int, int]]:
    """The picture's own pixels at one height, from left to right; the screen has one for each CSS pixel."""
    script = """(stage, y) => {
      const { width } = stage.firstChild;
      const { data } = stage.firstChild.getContext("2d").getImageData(0, y, width, 1);
      return Array.from({ length: width }, (_, x) => Array.from(data.slice(4 * x, 4 * x + 3)));
    }"""
    return [tuple(colour) for colour in stage.evaluate(script, int(y))]


def tooltip(page: Page) -> list[str]:
    """The visible tooltip's words."""
    box = page.locator(".tooltip:popover-open")
    expect(box).to_be_visible()
    return [part.strip() for part in box.locator("strong, dt, dd").all_text_contents() if part.strip()]


def cells(stage: Locator, rows: int, columns: int) -> list[list[tuple[int, int, int]]]:
    """Each cell's colour, beside its number; the matrix ends two pixels before the picture does."""
    across = row(stage, ABOVE + 3)
    width = len(across) - 2
    left = next(x for x, colour in enumerate(row(stage, ABOVE + 3)) if x > 20 and colour != WHITE)
    pitch = (width - left) / columns
    return [
        [row(stage, ABOVE + ROW * at + 3)[int(left + pitch * place) + 2] for place in range(columns)]
        for at in range(rows)
    ]


def light(colour: tuple[int, int, int]) -> int:
    return sum(colour)


def test_a_logarithmic_map_shows_every_number_on_its_scale(page: Page) -> None:
    cell_colours = cells(picture(page, 0), 3, 6)
    order = np.argsort(NORMS[:, :5], axis=None)
    lights = np.array([[light(colour) for colour in line] for line in cell_colours])
    assert (np.diff(lights[:, :5].ravel()[order]) <= 0).all()
    assert cell_colours[0][3] == WHITE  # the least
    assert light(cell_colours[0][0]) < 200  # the greatest
    # The middle of the scale by its logarithm: 10 of 1 to 100.
    low, middle, high = lights[0, 3], lights[0, 2], lights[0, 0]
    assert 0.3 < (low - middle) / (low - high) < 0.8
    absent = {cell_colours[at][5] for at in range(3)}
    assert len(absent) == 1  # flat, and none of the scale's colours
    assert not absent & {colour for line in cell_colours for colour in line[:5]}
    expect(page.locator(".legend").first).to_contain_text("not in this run")
    expect(page.locator(".legend").first.locator(".tick")).to_have_text(["1", "3", "10", "30", "100"])


def test_a_signed_map_is_white_at_zero_orange_below_and_blue_above(page: Page) -> None:
    stage = picture(page, 1)
    (less, none, more), (_, most, absent) = cells(stage, 2, 3)
    assert none == WHITE
    assert less[0] > less[2]
    assert most[2] > most[0]
    assert more[2] > more[0]
    assert light(most) < light(more) < light(none)
    assert light(less) == pytest.approx(light(most), abs=60)  # as far from zero
    assert absent not in (less, none, more, most)
    stage.focus()
    seen = {}
    for press, name in [("ArrowRight", "a"), ("ArrowRight", "b"), ("ArrowRight", "c")]:
        page.keyboard.press(press)
        seen[name] = tooltip(page)
    assert seen["a"] == ["change", "layer", "L0", "head", "a", "value", "−3.000"]
    assert seen["c"][-1] == "+1.000"
    page.keyboard.press("ArrowDown")
    assert tooltip(page)[-1] == "nothing there"
    page.keyboard.press("Escape")
    expect(page.locator(".tooltip:popover-open")).to_have_count(0)


def test_pointed_at_a_cell_tells_its_place_token_and_numbers_as_text(page: Page) -> None:
    stage = picture(page, 0)
    across = row(stage, ABOVE + 3)
    left = next(x for x, colour in enumerate(across) if x > 20 and colour != WHITE)
    pitch = (len(across) - 2 - left) / 6
    for place, token in enumerate(TOKENS):
        stage.hover(position={"x": left + pitch * (place + 0.5), "y": ABOVE + 1.5 * ROW})
        place_lines = ["length", "after", "L0", f"token {place}", token]
        if place < 5:
            assert tooltip(page) == [*place_lines, "value", f"{NORMS[1, place]:.0f}", "prompts", str(6 + place)]
        else:
            assert tooltip(page) == [*place_lines, "not in this run"]
    assert page.locator("b, .headlight a").count() == 0


def test_a_map_is_walked_by_key_and_read_aloud(page: Page) -> None:
    stage = page.get_by_role("application", name="length, after by token, 3 rows by 6 columns")
    stage.focus()
    for press in ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown"]:
        page.keyboard.press(press)
    live = page.locator(".headlight", has=stage).locator(".live")
    expect(live).to_have_text("after embed token 2 <b>x</b> value 10 prompts 14")


def test_a_cosine_below_zero_looks_like_zero_and_says_what_it_is(page: Page) -> None:
    stage = picture(page, 2)
    width = len(row(stage, 0)) - 2
    left = next(x for x, colour in enumerate(row(stage, ABOVE + 3)) if x > 20 and colour != WHITE)
    pitch = (width - left) / 3
    line = row(stage, ABOVE + 3)
    assert light(line[left + 2]) < 200
    assert line[int(left + pitch) + 2] == line[int(left + 2 * pitch) + 2] == WHITE
    stage.hover(position={"x": left + 2.5 * pitch, "y": ABOVE + ROW / 2})
    assert tooltip(page)[-1] == "−0.5"


def test_a_cell_is_chosen_by_click_and_by_key_but_none_without_a_number(page: Page) -> None:
    stage = page.get_by_role("application", name="parts, part, 2 rows by 3 columns. Arrow keys move, Enter chooses.")
    (part, absent, total), (_, _, of_all) = cells(stage, 2, 3)
    assert part == total == of_all != absent  # what is beyond the end looks like it
    right = stage.evaluate("stage => stage.clientWidth")
    stage.locator("canvas").first.click(position={"x": right - 20, "y": ABOVE + ROW / 2})
    expect(page.get_by_text("chosen (0, 2)")).to_be_visible()
    stage.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    assert tooltip(page) == ["parts", "part", "one", "nothing there"]
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("chosen (0, 2)")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_text("chosen (0, 0)")).to_be_visible()


def test_a_deep_model_s_columns_are_named_above_too(browser: Browser, address: str) -> None:
    """The same names as below the last row, level where all have room or else turned, by the number of their pixels."""
    page = browser.new_page()
    page.goto(f"{address}&deep=1")
    expect(page.locator(".stage")).to_have_count(3)
    expect(page.locator(".tick").last).to_be_visible(timeout=FIRST_DRAWING)
    for place, is_turned in enumerate([False, True, True]):
        stage = picture(page, place)
        height = int(stage.evaluate("stage => stage.firstChild.height"))
        room = (height - ABOVE - ROW * DEEP) // 2
        assert (room > ROW) is is_turned
        above, below = (
            sum(colour != WHITE for y in range(start, start + room) for colour in row(stage, y)[-140:])
            for start in (ABOVE, ABOVE + room + ROW * DEEP)
        )
        assert above == pytest.approx(below, rel=0.05)  # letters at other fractions of a pixel
        assert below > 0
    page.close()


def test_a_thousand_tokens_fit_a_dark_phone(browser: Browser, address: str) -> None:
    context = browser.new_context(
        color_scheme="dark", viewport={"width": 390, "height": 844}, device_scale_factor=3, has_touch=True
    )
    page = context.new_page()
    page.goto(f"{address}&many=1")
    expect(page.locator(".stage")).to_have_count(1)
    expect(page.locator(".tick").first).to_be_visible(timeout=FIRST_DRAWING)
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth <= main.clientWidth")
    stage = picture(page, 0)
    stage.focus()
    for press in ["ArrowRight", "ArrowRight", "ArrowRight"]:
        page.keyboard.press(press)
    expect(page.locator(".live").first).to_have_text("after L0 token 2 <b>x</b> value 3")
    box = stage.locator("canvas").first.bounding_box()
    assert box
    page.touchscreen.tap(box["x"] + box["width"] - 3, box["y"] + ABOVE + ROW / 2)
    lines = tooltip(page)
    assert lines[3].startswith("token ")
    assert int(lines[3].split()[1]) > 0.98 * MANY
    assert lines[-1] == str(1 + int(lines[3].split()[1]))
    context.close()


COUNT_FADES = """() => {
  const pictures = new Set();
  window.fades = () => pictures.size;
  new MutationObserver((changes) => {
    const added = changes.flatMap((change) => [...change.addedNodes]);
    for (const node of added) if (node.className === "flying") pictures.add(node);
  }).observe(document.body, { childList: true });
}"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_other_numbers_fade_in_unless_a_map_is_being_filled(
    tab: Page, address: str, motion: Literal["no-preference", "reduce"]
) -> None:
    tab.emulate_media(reduced_motion=motion)
    go(tab, f"{address}&changing=1")
    expect(tab.locator(".stage")).to_have_count(2)
    before = [row(picture(tab, place), ABOVE + 3) for place in range(2)]
    tab.evaluate(COUNT_FADES)
    tab.get_by_role("button", name="Change").click()
    settle(tab)
    expect(tab.locator("body > .flying")).to_have_count(0)  # they do not stay
    tab.emulate_media(reduced_motion="no-preference")
    assert all(row(picture(tab, place), ABOVE + 3) != before[place] for place in range(2))
    assert tab.evaluate("window.fades()") == (motion == "no-preference")


@pytest.mark.parametrize(
    ("call", "ticks"),
    [
        ("linearTicks(0, 47, 6)", [0, 10, 20, 30, 40, 50]),
        ("linearTicks(-0.07, 0.36, 6)", [-0.1, 0, 0.1, 0.2, 0.3, 0.4]),
        ("linearTicks(0, 1, 5)", [0, 0.2, 0.4, 0.6, 0.8, 1]),
        ("linearTicks(0, 0, 6)", [0, 0.2]),
        ("logTicks(8.2, 194, 6)", [10, 20, 50, 100]),
        ("logTicks(1, 3000, 6)", [1, 10, 100, 1000]),
        ("logTicks(1e-9, 1e9, 6)", [1e-9, 1e-5, 1e-1, 1e3, 1e7]),
        ("logTicks(21, 34, 6)", [25, 30]),
        ("logTicks(7, 7, 6)", [7]),
        ("[0, -1.5, 1234.4, 0.00012345].map(plainNumber)", ["0", "−1.5", "1234", "0.0001234"]),
    ],
)
def test_axes_have_few_round_numbers(scripts: Page, call: str, ticks: list[object]) -> None:
    assert scripts.evaluate(call) == (ticks if isinstance(ticks[0], str) else pytest.approx(ticks))


def test_an_unsure_number_colours_the_middle_of_its_cell_and_says_so(page: Page) -> None:
    stage = picture(page, 4)
    edge, middle = row(stage, ABOVE + 3), row(stage, ABOVE + ROW / 2)
    width = len(edge) - 2
    left = next(x for x, colour in enumerate(row(stage, ABOVE + ROW + 3)) if x > 20 and colour != WHITE)
    pitch = (width - left) / 2
    centres = [int(left + pitch * (column + 0.45)) for column in range(2)]
    assert [edge[x] == WHITE for x in centres] == [True, False]
    assert middle[centres[0]] != WHITE
    expect(page.locator(".legend").nth(4)).to_contain_text("may be 0")
    box = stage.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + left + pitch / 2, box["y"] + ABOVE + ROW / 2)
    assert "may be 0" in tooltip(page)
    page.mouse.move(box["x"] + left + 3 * pitch / 2, box["y"] + ABOVE + ROW / 2)
    assert "may be 0" not in tooltip(page)
