"""The components as a user meets them: pixels, tooltips and clicks, compared with the arrays the page was given."""

import re

import numpy as np
import pytest
from playwright.sync_api import Browser, FloatRect, Locator, Page, expect

from headlight.app.figures.tokens import colours as theme_colours
from tests.app.components.arrays import (
    CAPTIONS,
    HOSTILE,
    LABELS,
    MASKED,
    N_HEADS,
    N_LAYERS,
    N_TOKENS,
    band,
    logsumexp,
    scores,
    soft_pattern,
)
from tests.app.components.conftest import go
from tests.app.components.panels import tooltip

WHITE = [255, 255, 255]
HAIRLINE = [255 + 0.08 * (text - 255) for text in bytes.fromhex(theme_colours("light")["text"].removeprefix("#"))]
FRAME = 3  # CSS pixels of a selected head's frame


@pytest.fixture
def page(tab: Page, address: str) -> Page:
    """A new session of the page, with all components drawn."""
    wait_for_drawing(go(tab, address))
    return tab


def wait_for_drawing(page: Page) -> None:
    """Wait until every component has drawn its picture, and the colour bar that they share stands once."""
    for canvas in (".board canvas", ".plot canvas", "canvas.lines"):
        expect(page.locator(canvas).first).not_to_have_js_property("width", 300)  # as one begins
    expect(page.locator(".tick")).to_have_count(6)


def colours(canvas: Locator, points: list[tuple[float, float]]) -> list[list[int]]:
    """The canvas's own pixels (not a screenshot's) at points given in CSS pixels from its corner."""
    script = """(canvas, points) => {
      const ratio = canvas.width / canvas.clientWidth;
      const context = canvas.getContext("2d");
      const read = ([x, y]) => Array.from(context.getImageData(x * ratio, y * ratio, 1, 1).data.slice(0, 3));
      return points.map(read);
    }"""
    return canvas.evaluate(script, points)


def box_of(locator: Locator) -> FloatRect:
    """Where an element lies on the page, in CSS pixels, once it is drawn."""
    expect(locator).to_be_visible()
    box = locator.bounding_box()
    assert box is not None, f"{locator} is not visible"
    return box


def cell_centres(left: float, top: float, size: float) -> list[tuple[float, float]]:
    """The middle of every cell (query by query) of a matrix of N_TOKENS x N_TOKENS cells."""
    steps = (np.arange(N_TOKENS) + 0.5) * size / N_TOKENS
    return [(left + x, top + y) for y in steps for x in steps]


def matrix(page: Page, slot: int) -> tuple[Locator, float, float, float]:
    """A panel's canvas, and where on it its matrix begins and how large it is: as wide as the title above it."""
    panel = page.locator(".panel").nth(slot)
    panel.scroll_into_view_if_needed()
    canvas = panel.locator("canvas").first
    expect(canvas).not_to_have_js_property("width", 0)  # out of sight it is not drawn
    title, area = box_of(panel.locator("figcaption")), box_of(canvas)
    return canvas, title["x"] - area["x"], 6, title["width"]


def point_at(page: Page, slot: int, query: int, key: int) -> None:
    canvas, left, top, size = matrix(page, slot)
    x, y = cell_centres(left, top, size)[query * N_TOKENS + key]
    canvas.locator("..").hover(position={"x": x, "y": y})


def blocks(canvas: Locator, left: float, top: float, size: float) -> list[list[list[int]]]:
    """The middle pixel of every cell and the eight around it, in which hatching has a line and room between lines."""
    around = [(x, y) for y in (-1, 0, 1) for x in (-1, 0, 1)]
    points = [(x + right, y + down) for x, y in cell_centres(left, top, size) for right, down in around]
    read = colours(canvas, points)
    return [read[start : start + 9] for start in range(0, len(read), 9)]


def assert_shows(cell_blocks: list[list[list[int]]], weights: np.ndarray) -> None:
    """A weight of one is dark, zero is the page's white, masked has hairlines on it."""
    for block, weight, masked in zip(cell_blocks, weights.flat, MASKED.flat, strict=True):
        if masked:
            hairlines = [colour for colour in block if colour != WHITE]
            assert 0 < len(hairlines) < len(block)
            np.testing.assert_allclose(hairlines, [HAIRLINE] * len(hairlines), rtol=0, atol=1)
        elif weight == 1:
            assert sum(block[4]) < 200
        else:
            assert block == [WHITE] * 9


def test_every_thumbnail_shows_its_heads_weights_to_the_cell(page: Page) -> None:
    canvas = page.locator(".board canvas")
    frame, area = box_of(page.locator(".board .frame").first), box_of(canvas)  # the frame of head L1H1
    pitch, size = area["width"] / N_HEADS, frame["width"] - 2 * FRAME
    left, top = frame["x"] + FRAME - area["x"] - pitch, frame["y"] + FRAME - area["y"] - pitch  # head L0H0's
    for layer in range(N_LAYERS):
        for head in range(N_HEADS):
            assert_shows(blocks(canvas, left + head * pitch, top + layer * pitch, size), band(layer))


def test_a_head_is_framed_before_anything_that_follows_from_the_choice(page: Page) -> None:
    """The tooltip, which tells the slot, and what a screen reader hears wait for the next frame."""
    script = """(board, heads) => {
      const { left, top, width } = board.querySelector("canvas").getBoundingClientRect();
      const middle = width / heads / 2; // of the first head
      const there = { clientX: left + middle, clientY: top + middle, bubbles: true };
      board.querySelector("canvas").dispatchEvent(new MouseEvent("click", there));
      const root = board.getRootNode();
      const frames = board.querySelectorAll(".frames > .frame").length;
      return [frames, root.querySelector(".live").textContent, root.querySelector(".tooltip").matches(":popover-open")];
    }"""
    assert page.locator(".board").evaluate(script, N_HEADS) == [3, "", False]
    expect(page.locator(".live").first).to_have_text("L0H0 selected as number 3")
    assert tooltip(page)["selected"] == "3 of 3"


def test_clicks_select_any_number_of_heads_and_the_server_may_force_others(page: Page) -> None:
    pitch = box_of(page.locator(".board canvas"))["width"] / N_HEADS

    def click(layer: int, head: int) -> None:
        page.locator(".board").click(position={"x": (head + 0.5) * pitch, "y": (layer + 0.5) * pitch})

    for head in [(0, 0), (0, 1), (0, 2), (3, 0), (3, 1)]:
        click(*head)
    expect(page.get_by_text("selected ((1, 1), (2, 0), (0, 0), (0, 1), (0, 2), (3, 0), (3, 1))")).to_be_visible()
    expect(page.locator(".board .frame .badge")).to_have_text(["1", "2", "3", "4", "5", "6", "7"])
    expect(page.locator(".panel strong")).to_have_text(["L1H1", "L2H0", "L0H0", "L0H1", "L0H2", "L3H0", "L3H1"])
    click(2, 0)
    expect(page.get_by_text("selected ((1, 1), (0, 0), (0, 1), (0, 2), (3, 0), (3, 1))")).to_be_visible()
    page.get_by_role("button", name="reset").click()
    expect(page.get_by_text("selected ((3, 2),)")).to_be_visible()
    expect(page.locator(".panel strong")).to_have_text(["L3H2"])


def test_a_layers_name_chooses_all_its_heads_and_a_second_click_none(page: Page) -> None:
    page.get_by_role("button", name="reset").click()
    expect(page.get_by_text("selected ((3, 2),)")).to_be_visible()
    page.locator(".down span", has_text="L3").click()
    rest = ", ".join(f"(3, {head})" for head in range(N_HEADS) if head != 2)
    expect(page.get_by_text(f"selected ((3, 2), {rest})")).to_be_visible()
    page.locator(".down span", has_text="L3").click()
    expect(page.get_by_text("selected ()")).to_be_visible()
    page.locator(".across span", has_text="H1").click()
    of_one = ", ".join(f"({layer}, 1)" for layer in range(N_LAYERS))
    expect(page.get_by_text(f"selected ({of_one})")).to_be_visible()


def test_a_heads_name_opens_its_menu_which_leads_to_a_page_once(page: Page) -> None:
    page.get_by_role("button", name="reset").click()
    expect(page.get_by_text("selected ((3, 2),)")).to_be_visible()
    page.locator(".panel strong").get_by_role("button", name="L3H2").click()
    menu = page.get_by_role("menu", name="L3H2")
    why = menu.get_by_role("menuitem", name="Why")
    expect(why).to_be_focused()
    assert "page=why&heads=3.2" in (why.get_attribute("href") or "")
    why.click()
    expect(page.get_by_text("opened ('why', (3, 2))")).to_be_visible()
    page.get_by_role("button", name="reset").click()
    expect(page.get_by_text("opened None")).to_be_visible()


def test_the_menu_of_a_head_is_used_by_keyboard_and_gives_the_focus_back(page: Page) -> None:
    board, menu = page.locator(".board"), page.get_by_role("menu")
    board.focus()
    for press in ["ArrowDown", "ArrowRight", "m"]:
        page.keyboard.press(press)
    expect(menu).to_have_accessible_name("L1H1")
    page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    expect(board).to_be_focused()
    for press in ["m", "ArrowDown", "Enter"]:
        page.keyboard.press(press)
    expect(page.get_by_text("opened ('ablate', (1, 1))")).to_be_visible()


def test_a_long_touch_on_a_thumbnail_opens_the_menu_and_chooses_nothing(page: Page) -> None:
    """Safari on a phone has no event for it, as this browser has none for a touch that it is told of."""
    chosen = page.get_by_text("selected (").inner_text()
    board = page.locator(".board canvas")
    board.scroll_into_view_if_needed()
    box = box_of(board)
    point = {"x": box["x"] + 2.5 * box["width"] / N_HEADS, "y": box["y"] + 0.5 * box["width"] / N_HEADS}
    client = page.context.new_cdp_session(page)
    client.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    page.wait_for_timeout(600)
    client.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(page.get_by_role("menu", name="L0H2")).to_be_visible()
    page.keyboard.press("Escape")
    assert page.get_by_text("selected (").inner_text() == chosen


def test_a_right_click_on_a_thumbnail_opens_the_menu_and_chooses_nothing(page: Page) -> None:
    chosen = page.get_by_text("selected (").inner_text()
    pitch = box_of(page.locator(".board canvas"))["width"] / N_HEADS
    page.locator(".board").click(button="right", position={"x": 2.5 * pitch, "y": 0.5 * pitch})
    expect(page.get_by_role("menu", name="L0H2")).to_be_visible()
    page.keyboard.press("Escape")
    assert page.get_by_text("selected (").inner_text() == chosen


def test_grid_is_used_by_keyboard_and_names_the_head(page: Page) -> None:
    page.locator(".board").focus()
    for press in ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"]:
        page.keyboard.press(press)
    assert tooltip(page) == {"title": "L2H2", "": CAPTIONS[2][2]}
    expect(page.locator(".live").first).to_have_text(f"L2H2 {CAPTIONS[2][2]}")
    page.keyboard.press("Enter")
    expect(page.get_by_text("selected ((1, 1), (2, 0), (2, 2))")).to_be_visible()


def test_panels_show_their_weights_to_the_cell(page: Page) -> None:
    canvas, left, top, size = matrix(page, 1)  # head L2H0
    assert_shows(blocks(canvas, left, top, size), band(2))


def test_tooltip_gives_tokens_weight_score_and_rank(page: Page) -> None:
    query, key = 6, 3
    point_at(page, 0, query, key)  # head L1H1: the soft pattern
    rows = tooltip(page)
    weight = soft_pattern()[query, key]
    assert rows["title"] == "L1H1"
    assert (rows["query 6"], rows["key 3"]) == (LABELS[query], LABELS[key])
    assert rows["weight"] == f"{weight:#.4g}"
    assert rows["score"].replace("−", "-") == f"{scores()[query, key]:.3f}"
    assert np.log(weight) + logsumexp()[query] == pytest.approx(scores()[query, key])
    assert rows["rank"] == f"{1 + (soft_pattern()[query] > weight).sum()} of {query + 1}"
    point_at(page, 0, 2, 5)
    assert tooltip(page)["weight"] == "masked"


def test_a_click_pins_a_cell_for_every_panel_and_escape_unpins(page: Page) -> None:
    point_at(page, 1, 5, 3)
    page.mouse.down()
    page.mouse.up()
    expect(page.get_by_text("pinned Pin(queries=(5,), keys=(3,))")).to_be_visible()
    page.mouse.move(0, 0)
    all_of_it = page.locator(".readout").nth(1)  # L2H0: all weight two tokens back
    expect(all_of_it).to_have_text(f"{LABELS[5]} → {LABELS[3]} 1.000")
    page.locator(".panels").focus()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_text("pinned Pin(queries=(4,), keys=(3,))")).to_be_visible()
    expect(page.locator(".readout").nth(1)).to_have_text(f"{LABELS[4]} → {LABELS[3]} < 0.001")
    page.keyboard.press("Escape")
    expect(page.get_by_text("pinned None")).to_be_visible()


def order_from_dark(chips: Locator) -> list[int]:
    """The tokens from the darkest to the lightest; those without a colour of their own come last."""
    backgrounds = chips.evaluate_all("chips => chips.map((chip) => chip.style.background)")
    sums = [sum(map(int, re.findall(r"\d+", background)[:3])) if background else 999 for background in backgrounds]
    return np.argsort(sums, stable=True).tolist()


def test_tokens_recolour_by_attention_from_or_to_the_token_under_the_pointer(page: Page) -> None:
    chips = page.locator(".chip")
    chips.nth(5).hover()
    masked = chips.evaluate_all("chips => chips.map((chip) => chip.classList.contains('masked'))")
    assert masked == MASKED[5].tolist()
    assert order_from_dark(chips)[:6] == np.argsort(-soft_pattern()[5, :6]).tolist()
    page.get_by_text("to the token").click()
    chips.nth(5).hover()
    assert order_from_dark(chips)[:3] == (5 + np.argsort(-soft_pattern()[5:, 5])).tolist()


def test_at_rest_the_last_token_says_where_it_looks(page: Page) -> None:
    chips = page.locator(".chip")
    expect(page.locator(".chip.resting")).to_have_text([LABELS[-1]])
    assert order_from_dark(chips)[:3] == np.argsort(-soft_pattern()[-1]).tolist()[:3]
    chips.nth(3).click()
    expect(page.locator(".chip.resting")).to_have_count(0)


# Of the lowest line there: its value stands over it.
LINE_WIDTH = """(canvas, x) => {
  const ratio = canvas.width / canvas.clientWidth;
  const { data } = canvas.getContext("2d").getImageData(Math.round(x * ratio), 0, 1, canvas.height);
  const upwards = Array.from({ length: canvas.height }, (_, y) => data[4 * y + 3] > 0).reverse();
  const line = upwards.slice(upwards.indexOf(true));
  return upwards.includes(true) ? line.concat(false).indexOf(false) / ratio : 0;
}"""


def test_a_line_is_as_wide_as_the_weight(page: Page) -> None:
    chips, canvas = page.locator(".chip"), page.locator("canvas.lines")
    chips.nth(1).hover()  # looks at itself and at token 0 alone: one line, over the gap between the two
    left, right = (box_of(chips.nth(place)) for place in (0, 1))
    middle = (left["x"] + left["width"] / 2 + right["x"] + right["width"] / 2) / 2 - box_of(canvas)["x"]
    width = 1 + 8 * soft_pattern()[1, 0]
    page.wait_for_function(
        f"canvas => Math.abs(({LINE_WIDTH})(canvas, {middle}) - {width}) < 2.5", arg=canvas.element_handle()
    )
    chips.nth(0).hover()  # has nothing but itself to look at
    page.wait_for_function(f"canvas => ({LINE_WIDTH})(canvas, {middle}) === 0", arg=canvas.element_handle())


# Whether the lines are where they belong at once, after a while at rest, and at the next frame, after another token.
ARE_THERE = """async (chip) => {
  const root = chip.getRootNode(), chips = root.querySelectorAll(".chip"), canvas = root.querySelector("canvas.lines");
  const wait = (time) => new Promise((done) => setTimeout(done, time));
  const pointAt = (place) => chips[place].dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
  const isThere = async (place, frames) => {
    pointAt(place);
    for (let frame = 0; frame < frames; frame++) await new Promise(requestAnimationFrame);
    const at = canvas.toDataURL();
    await wait(600);
    return at === canvas.toDataURL();
  };
  await wait(600);
  const afterRest = await isThere(6, 0);
  pointAt(4);
  return [afterRest, await isThere(5, 2)];
}"""


def test_lines_move_unless_the_pointer_hurries_on(page: Page) -> None:
    assert page.locator(".chip").first.evaluate(ARE_THERE) == [False, True]


def test_strip_and_panels_share_the_pin(page: Page) -> None:
    page.locator(".chip").nth(6).click()
    expect(page.get_by_text("pinned Pin(queries=(6,), keys=())")).to_be_visible()
    page.locator(".chip").nth(4).hover()
    expect(page.locator(".readout").nth(1)).to_have_text(f"{LABELS[6]} → {LABELS[4]} 1.000")  # L2H0
    point_at(page, 0, 3, 1)
    page.mouse.down()
    page.mouse.up()
    pinned = page.locator(".chip.pinned")
    expect(pinned).to_have_count(2)
    assert pinned.all_text_contents() == [LABELS[1], LABELS[3]]


def test_token_text_is_text_and_nothing_leaves_the_machine(
    browser: Browser, address: str, component_server: str
) -> None:
    context = browser.new_context(color_scheme="dark", viewport={"width": 390, "height": 844}, device_scale_factor=3)
    page = context.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    wait_for_drawing(page)
    assert page.locator(".chip").first.text_content() == HOSTILE
    assert page.locator("img[src=x]").count() == 0
    assert requests
    assert all(url.startswith((f"{component_server}/", "blob:", "data:")) for url in requests)
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollWidth <= main.clientWidth")  # no horizontal scroll bar on a phone
    background = main.evaluate("main => getComputedStyle(main.closest('.stApp')).backgroundColor")
    canvas, left, top, size = matrix(page, 1)
    cell_colours = colours(canvas, cell_centres(left, top, size))
    assert f"rgb({', '.join(map(str, cell_colours[6 * N_TOKENS]))})" == background  # zero: query 6 to key 0
    context.close()
