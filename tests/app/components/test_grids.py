"""The grids of heads and of the lens, in every kind, compared with the arrays that their page was given."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from headlight.app import components
from headlight.app.components import encode_signed
from headlight.app.components.shared.mount import scripts
from tests.app.components.conftest import go
from tests.app.components.grids import (
    CAPTIONS,
    DEEP,
    FIGURES,
    HOSTILE,
    LABELS,
    LAYER_LABELS,
    N_CELLS,
    N_HEADS,
    N_LAYERS,
    ORDER,
    VOCABULARY,
    changes,
    lens,
)
from tests.app.components.panels import tooltip
from tests.app.components.test_browser import WHITE, box_of, colours
from tests.e2e.settling import LISTENING, settle

PAGE = "grids_page.py"
FOLDER = Path(components.__file__).parent
ROW = 27  # CSS pixels of a row of the lens
GAP = 6  # CSS pixels between the layers and the input tokens
FIRST_CELL = 62  # CSS pixels, inside the cells of the lens's first place


@pytest.fixture(scope="module", params=["light", "dark"])
def themed(request: pytest.FixtureRequest, browser: Browser, component_server: str) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=request.param)
    context.add_init_script(LISTENING)
    yield go(context.new_page(), f"{component_server}/?of={PAGE}")
    context.close()


@pytest.fixture
def page(tab: Page, address: str) -> Page:
    return go(tab, address)


def show(page: Page, name: str, title: str) -> Locator:
    """Choose what the page shows and wait for the colour bar of that title; returns its first canvas."""
    page.get_by_text(name, exact=True).click()
    settle(page)  # what was shown before stays until then
    expect(page.locator(".legend .title").first).to_have_text(title)
    return page.locator(".sheet canvas").first


def background(page: Page) -> list[int]:
    script = "app => getComputedStyle(app).backgroundColor.match(/\\d+/g).map(Number)"
    return page.locator(".stApp").evaluate(script)


def cell_of(canvas: Locator, layer: int, head: int, row: int, column: int) -> tuple[float, float]:
    """Where a cell near a thumbnail's middle lies: there the gaps between thumbnails move it by less than a pixel."""
    pitch = box_of(canvas)["width"] / N_HEADS
    return pitch * (head + (column + 0.5) / N_CELLS), pitch * (layer + (row + 0.5) / N_CELLS)


def distances(cell_colours: list[list[int]], origin: list[int]) -> np.ndarray:
    return np.linalg.norm(np.array(cell_colours) - origin, axis=-1)


def test_changes_leave_the_background_to_blue_and_to_orange_by_their_size(themed: Page) -> None:
    """On the diagonal stands +layer/10, under it -head/10: the further from zero, the further from the background."""
    canvas = show(themed, "changes", "B − A")
    ground = background(themed)
    more = colours(canvas, [cell_of(canvas, layer, 2, 4, 4) for layer in range(11)])
    less = colours(canvas, [cell_of(canvas, 3, head, 4, 3) for head in range(11)])
    (nothing,) = colours(canvas, [cell_of(canvas, 5, 5, 5, 3)])
    x, y = cell_of(canvas, 5, 5, 3, 4)
    masked = colours(canvas, [(x + right, y) for right in (-2, -1, 0, 1, 2)])  # a period of the hairlines
    assert nothing == more[0] == less[0] == ground
    assert any(colour != ground for colour in masked)
    for row in (more, less):
        assert (np.diff(distances(row, ground)) > 0).all()
    assert all(blue > red for red, _, blue in more[1:])
    assert all(red > blue for red, _, blue in less[1:])


def test_the_colour_bar_of_changes_has_both_signs(page: Page) -> None:
    show(page, "changes", "B − A")
    assert page.locator(".tick").all_text_contents() == ["−1", "−0.25", "0", "+0.25", "+1"]


def test_a_pixel_over_many_changes_shows_the_largest_of_either_sign(browser: Browser) -> None:
    """Guards against codes in whose order every increase is larger than every decrease."""
    page = browser.new_page()
    page.add_script_tag(content=scripts(FOLDER / "shared", FOLDER / "head_grid"))
    values = np.concatenate([changes()[3, 7].ravel(), np.linspace(-1, 1, 41)])
    codes = encode_signed(values[None, None], 1.0).ravel()
    shares = np.array(page.evaluate("codes => codes.map(CODE_SHARES.signed)", codes.tolist()))
    page.close()
    masked = np.isnan(values)
    assert (codes[masked] == 0).all()
    values, codes, shares = values[~masked], codes[~masked], shares[~masked]
    assert (np.diff(codes[np.argsort(np.abs(values), stable=True)] // 2) >= 0).all()
    # Half of one of 127 steps of the root.
    np.testing.assert_allclose(2 * shares - 1, np.sign(values) * np.sqrt(np.abs(values)), atol=0.5 / 127 + 1e-9)


def test_many_heads_take_the_width_that_there_is_though_their_cells_do_not_fit_evenly(page: Page) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    grid = show(page, "many", "attention weight")
    wide = page.locator(".headlight").filter(has=grid).first.evaluate("root => root.clientWidth")
    assert box_of(grid)["width"] > 0.9 * (wide - 34)  # beside the names of the rows


def test_heads_in_an_order_have_colours_up_to_the_limit_and_text_under_them(page: Page) -> None:
    canvas = show(page, "sizes", "norm")
    assert page.locator(".tick").all_text_contents()[-1] == "12"
    pitch = box_of(canvas)["width"] / N_HEADS  # they stand as close as in the table, and so on two lines
    places = [divmod(index, N_HEADS) for index in range(len(ORDER))]
    down = box_of(canvas)["height"] / 2
    cells = colours(canvas, [(pitch * (at + 0.13), down * line + pitch / 2) for line, at in places])  # the first column
    darkness = distances(cells, WHITE)
    assert np.argsort(darkness, stable=True).tolist() == np.argsort([head[0] for head in ORDER], stable=True).tolist()
    assert colours(canvas, [(pitch * 0.4, pitch * 0.6)]) == [WHITE]  # zero
    under = [(x, pitch + y) for x in np.arange(pitch * 0.2, pitch * 0.8) for y in range(2, 24)]
    assert distances(colours(canvas, under), WHITE).max() > 200  # letters


def test_heads_in_an_order_are_chosen_by_click_and_by_keyboard(page: Page) -> None:
    canvas = show(page, "sizes", "norm")
    canvas.click(position={"x": 20, "y": 30})
    expect(page.get_by_text("selected ((0, 1), (5, 3))")).to_be_visible()
    page.locator(".board").press("Control+End")
    layer, head = ORDER[-1]
    live = f"L{layer}H{head} {FIGURES[layer][head]} {CAPTIONS[layer][head]}"
    expect(page.locator(".live").first).to_have_text(live)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"selected ((0, 1), (5, 3), {ORDER[-2]})")).to_be_visible()


def test_any_number_of_heads_is_chosen_and_each_is_framed_at_once(page: Page) -> None:
    canvas = show(page, "weights", "attention weight")
    pitch = box_of(canvas)["width"] / N_HEADS
    for count in range(2, 9):
        canvas.click(position={"x": pitch * (count + 0.5), "y": pitch * 2.5})
    expect(page.locator(".frames .badge").last).to_have_text("8")
    expect(page.get_by_text("(2, 8))")).to_be_visible()
    click = """canvas => {
      const { left, top, width } = canvas.getBoundingClientRect();
      const place = { bubbles: true, clientX: left + width / 24, clientY: top + width / 24 };
      canvas.dispatchEvent(new MouseEvent("click", place));
      return canvas.getRootNode().querySelectorAll(".frames .frame").length;
    }"""
    assert canvas.evaluate(click) == 9  # before the browser has done anything else


def test_home_and_end_stay_in_the_row_and_with_control_leave_it(page: Page) -> None:
    show(page, "weights", "attention weight")
    board = page.locator(".board")
    board.press("ArrowDown")
    for press, name in [
        ("End", "L1H11"),
        ("Home", "L1H0"),
        ("Control+End", f"L{N_LAYERS - 1}H{N_HEADS - 1}"),
        ("Control+Home", "L0H0"),
    ]:
        board.press(press)
        assert tooltip(page)["title"] == name


def rows_of(n_layers: int, place: int = 0) -> list[tuple[float, float]]:
    """A point just inside each layer's cell at a place, first layer first; cells are as wide as they get."""
    return [(FIRST_CELL + 112 * place, (n_layers - 1 - layer) * ROW + 2) for layer in range(n_layers)]


def test_lens_shows_the_measure_from_the_background_up_and_pins_a_cell(page: Page) -> None:
    canvas = show(page, "lens", "entropy (nats)")
    cell_colours = colours(canvas, rows_of(5))
    assert cell_colours[0] == WHITE
    assert (np.diff(distances(cell_colours, WHITE)) > 0).all()
    canvas.hover(position={"x": FIRST_CELL, "y": 2})
    rows = tooltip(page)
    assert rows["title"] == "L3, position 0"
    assert (rows["input token"], rows["entropy"]) == (LABELS[0], "1.000 nats")
    assert (rows["·w4"], rows["·w13"]) == ("0.5000", "0.0009766")
    canvas.click(position={"x": FIRST_CELL, "y": 4 * ROW + 2})
    expect(page.get_by_text("lens LensPin(layer=0, position=0)")).to_be_visible()
    page.locator(".scroller").press("ArrowUp")
    expect(page.get_by_text("lens LensPin(layer=1, position=0)")).to_be_visible()
    page.keyboard.press("End")
    expect(page.get_by_text(f"lens LensPin(layer=1, position={len(LABELS) - 1})")).to_be_visible()


def test_the_input_tokens_stand_above_a_deep_lens_too(page: Page) -> None:
    """The same row as at the foot; the layers begin below it, for the pointer too."""
    canvas = show(page, "deep", "entropy (nats)")
    strips = """(canvas, height) => {
      const ratio = canvas.width / canvas.clientWidth;
      const strip = (y) => [...canvas.getContext("2d").getImageData(0, y, canvas.width, height * ratio).data];
      return [strip(0), strip(canvas.height - height * ratio)];
    }"""
    above, below = canvas.evaluate(strips, ROW)
    assert above == below
    assert len(set(above)) > 2  # letters
    top = ROW + GAP
    canvas.click(position={"x": FIRST_CELL, "y": 2})
    canvas.click(position={"x": FIRST_CELL, "y": top + 2})
    expect(page.get_by_text(f"lens LensPin(layer={DEEP - 1}, position=0)")).to_be_visible()
    canvas.click(position={"x": FIRST_CELL, "y": top + (DEEP - 1) * ROW + 2})
    expect(page.get_by_text("lens LensPin(layer=0, position=0)")).to_be_visible()


def test_turns_of_a_chat_stand_above_a_lens_and_are_told(page: Page) -> None:
    """Their roles' letters stand in a row above the layers, which begin below it for the pointer too."""
    canvas = show(page, "chat", "entropy (nats)")
    colours_above = """(canvas, [from, height]) => {
      const ratio = canvas.width / canvas.clientWidth;
      const { data } = canvas.getContext("2d").getImageData(from * ratio, 0, canvas.width, height * ratio);
      return new Set(new Uint32Array(data.buffer)).size;
    }"""
    assert canvas.evaluate(colours_above, [FIRST_CELL, ROW]) > 2
    canvas.click(position={"x": FIRST_CELL, "y": 2})
    expect(page.get_by_text("lens None")).to_be_visible()
    canvas.click(position={"x": FIRST_CELL, "y": ROW + 2})
    expect(page.get_by_text(f"lens LensPin(layer={len(LAYER_LABELS) - 1}, position=0)")).to_be_visible()
    for key, role in (("End", "assistant"), ("Home", "user")):
        page.keyboard.press(key)
        expect(page.locator("[aria-live]").filter(has_text=f"in a turn of {role}").first).to_be_attached()


def test_two_lenses_share_limits_and_their_difference_is_signed(page: Page) -> None:
    """A's measure rises by layer from 0 to 1, B's falls from 1 to 1/4: the difference runs from +1 to -1/2."""
    show(page, "both", "entropy (nats)")
    expect(page.locator("h3.title")).to_have_text(["A", "B", "B − A"])
    expect(page.locator(".sheet canvas")).to_have_count(3)
    a, b, difference = page.locator(".sheet canvas").all()
    of_a, of_b, of_difference = (colours(each, rows_of(n)) for each, n in ((a, 5), (b, 4), (difference, 4)))
    assert of_b == of_a[4:0:-1]  # 1 - layer / 4
    measures = lens(1).measure[:, 0] - lens(0).measure[:4, 0]
    assert of_difference[2] == WHITE
    assert measures[2] == 0
    assert all(blue > red for red, _, blue in of_difference[:2])
    assert of_difference[3][0] > of_difference[3][2]
    size = distances(of_difference, WHITE)
    assert size[0] > max(size[1], size[3]) > 0


def test_a_place_that_a_run_lacks_is_flat_and_says_so(page: Page) -> None:
    show(page, "both", "entropy (nats)")
    expect(page.locator(".sheet canvas")).to_have_count(3)
    canvases = page.locator(".sheet canvas").all()
    absent = [(0, 2), (1, 1), (2, 1), (2, 2)]
    for index, place in absent:
        cell_colours = colours(canvases[index], rows_of(4, place))
        assert len(set(map(tuple, cell_colours))) == 1
        assert cell_colours[0] != WHITE
    canvases[2].hover(position={"x": FIRST_CELL + 112, "y": 2})
    assert tooltip(page) == {"title": "L2, position 1", "input token": "−cat", "": "B has no such token"}
    canvases[0].hover(position={"x": FIRST_CELL + 224, "y": 2})
    assert tooltip(page)[""] == "A has no such token"


def test_the_difference_lists_both_top_tens_and_all_three_share_the_pin(page: Page) -> None:
    show(page, "both", "entropy (nats)")
    expect(page.locator(".sheet canvas")).to_have_count(3)
    a, b, difference = page.locator(".sheet canvas").all()
    difference.hover(position={"x": FIRST_CELL + 3 * 112, "y": 2})
    assert tooltip(page)["B − A"] == "−0.5000 nats"
    lines = page.locator(".both tr").all_inner_texts()
    assert lines[0].split() == ["A", "B"]
    assert lines[1].split() == [VOCABULARY[6], "0.500", VOCABULARY[7], "0.500"]
    assert len(lines) == 11
    b.click(position={"x": FIRST_CELL, "y": 3 * ROW + 10})
    expect(page.get_by_text("lens LensPin(layer=0, position=0)")).to_be_visible()
    page.mouse.move(0, 0)
    # The frame is drawn over the cell's edge; the top token of the cell is hostile text, which stays text.
    edges = [colours(each, [(FIRST_CELL, n * ROW - 1.5)])[0] for each, n in ((a, 5), (b, 4), (difference, 4))]
    assert edges[0] == edges[1] == edges[2]
    assert page.locator("img[src=x]").count() == 0
    assert HOSTILE in VOCABULARY


def test_whole_columns_of_a_lens_share_a_narrow_window(page: Page) -> None:
    page.set_viewport_size({"width": 340, "height": 844})
    canvas = show(page, "both", "entropy (nats)")
    canvas.hover(position={"x": box_of(canvas)["width"] - 8, "y": 2})
    assert tooltip(page)["title"].endswith(f"position {len(LABELS) - 1}")


def test_more_heads_than_a_phone_has_room_for_fade_out_until_they_are_there(page: Page) -> None:
    show(page, "weights", "attention weight")
    scroller = page.locator(".scroller").first
    expect(scroller).to_have_css("mask-image", "none")
    page.set_viewport_size({"width": 300, "height": 844})
    settle(page)
    assert scroller.evaluate("box => box.scrollWidth > box.clientWidth")
    assert "gradient" in scroller.evaluate("box => getComputedStyle(box).maskImage")
    scroller.evaluate("box => box.scrollTo(box.scrollWidth, 0)")
    expect(scroller).to_have_css("mask-image", "none")
