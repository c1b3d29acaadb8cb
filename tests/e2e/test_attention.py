"""The attention page in a real browser, against the patterns that the library computes."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal

import numpy as np
import pytest
from playwright.sync_api import Browser, Route, WebSocketRoute, expect

from headlight.model import Transformer, load
from tests.e2e.driver import Driver

PROMPT = "The cat sat on the mat. The cat sat on the mat."
# Colours of an opened head's cells. Its matrix begins 6 pixels below the canvas's top, as wide as the caption above it.
CELLS = """(panel, count) => {
    const canvas = panel.querySelector("canvas");
    const { marginLeft, marginRight } = getComputedStyle(panel.querySelector("figcaption"));
    const [left, top] = [parseFloat(marginLeft), 6];
    const size = parseFloat(canvas.parentElement.style.width) - left - parseFloat(marginRight);
    const centre = (start, index) => Math.round((start + (index + 0.5) * size / count) * devicePixelRatio);
    const context = canvas.getContext("2d");
    const colour = (row, column) => [...context.getImageData(centre(left, column), centre(top, row), 1, 1).data];
    const indices = Array.from({ length: count }, (_, index) => index);
    return indices.map(row => indices.map(column => colour(row, column)));
}"""


@pytest.fixture(scope="module")
def mini() -> Transformer:
    return load("mini")


def _ink(colours: object) -> np.ndarray:
    """How much darker colours (red, green, blue of 255) are than white, 0 to 1, by luma (ITU-R BT.601)."""
    return 1 - np.array(colours, dtype=float)[..., :3] / 255 @ [0.299, 0.587, 0.114]


def _darker_is_larger(ink: np.ndarray, weights: np.ndarray) -> bool:
    """Along the map lightness only falls, and luma with it to within one step of an 8-bit colour."""
    rising = ink[np.argsort(weights)]
    return bool(np.all(np.maximum.accumulate(rising) - rising <= 1 / 256 + 1e-9))


def _pattern(model: Transformer, layer: int, head: int) -> np.ndarray:
    """The pattern with the beginning-of-sequence token, as the page feeds it."""
    tokens = model.to_tokens(PROMPT, prepend_bos=True)
    _, cache = model.run_with_cache(tokens, names_filter=f"blocks.{layer}.attn.hook_pattern")
    return cache["pattern", layer][0, head].numpy()


WRITTEN = """() => {
    const { fillText } = CanvasRenderingContext2D.prototype;
    window.written = [];
    CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
        window.written.push(text);
        return fillText.call(this, text, ...place);
    };
}"""


def test_the_heading_s_number_stands_over_its_line(app: Driver, mini: Transformer) -> None:
    """A weight that ends in a nought, which two significant digits would leave out."""
    weights = {(head, query): _pattern(mini, 1, head)[query] for head in range(4) for query in range(2, 13)}
    head, query = next(
        place
        for place, row in weights.items()
        if row.max() > 0.3 and row.argmax() != place[1] and f"{row.max():.2f}".endswith("0")
    )
    number = f"{weights[head, query].max():.2f}"
    app.open()
    app.page.evaluate(WRITTEN)
    app.open(prompt=PROMPT, heads=f"1.{head}", queries=str(query))
    expect(app.page.locator("h2.page")).to_contain_text(f"{number})")
    assert number in app.page.evaluate("written")


def test_a_newcomer_sees_heads_of_a_text_that_repeats(app: Driver) -> None:
    app.open()
    expect(app.page).to_have_title(re.compile("Headlight"))
    expect(app.prompt).to_have_value(re.compile(r"(\w+ \w+).*\1"))  # some phrase occurs twice
    expect(app.fed).to_contain_text("mini")
    expect(app.panels.first).to_be_visible()
    expect(app.board).to_have_attribute("aria-label", re.compile("layers by"))


def test_a_click_on_a_thumbnail_opens_that_head_and_another_click_closes_it(app: Driver, mini: Transformer) -> None:
    app.open(prompt=PROMPT, heads="0.0")
    expect(app.panels).to_have_count(1)
    grid = mini.cfg.n_layers, mini.cfg.n_heads
    app.click_head(2, 3, shape=grid)
    expect(app.panels.nth(1).locator("figcaption")).to_contain_text("L2H3")
    app.click_head(2, 3, shape=grid)
    expect(app.panels).to_have_count(1)
    expect(app.panels.locator("figcaption")).to_contain_text("L0H0")


# Where pictures begin that move over the page, and where they go.
FLIGHTS = """() => {
    window.flights = [];
    new MutationObserver(changes => changes.flatMap(({ addedNodes }) => [...addedNodes]).forEach(node => {
        if (node.className !== "flying") return;
        const [flight] = node.getAnimations();
        flight.pause();
        const at = time => (flight.currentTime = time, node.getBoundingClientRect().toJSON());
        window.flights.push([at(0), at(349)]);
        flight.finish();
    })).observe(document.body, { childList: true });
}"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_thumbnail_grows_into_its_panel_unless_less_motion_is_wanted(
    app: Driver, motion: Literal["no-preference", "reduce"]
) -> None:
    app.page.emulate_media(reduced_motion=motion)
    app.open(prompt=PROMPT, heads="0.0")
    app.page.evaluate(FLIGHTS)
    app.click_head(2, 3, shape=(4, 4))
    expect(app.panels).to_have_count(2)
    app.settle()
    flights, board = app.page.evaluate("window.flights"), app.board.bounding_box()
    app.page.emulate_media(reduced_motion=None)
    assert len(flights) == (motion == "no-preference")
    for start, end in flights:
        assert board["x"] < start["x"] < start["x"] + start["width"] < board["x"] + board["width"]
        plot = app.panels.nth(1).locator(".plot").bounding_box()
        assert plot["x"] < end["x"] < end["x"] + end["width"] < plot["x"] + plot["width"]
        assert end["width"] > 2 * start["width"]


FADES = """() => {
    window.fades = new Set();
    new MutationObserver(changes => changes.flatMap(({ addedNodes }) => [...addedNodes]).forEach(node => {
        if (node.className === "flying") window.fades.add(node);
    })).observe(document.body, { childList: true });
}"""


@pytest.mark.usefixtures("own_session")
@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_pictures_of_another_side_come_out_from_under_those_before(
    app: Driver, motion: Literal["no-preference", "reduce"]
) -> None:
    app.page.emulate_media(reduced_motion=motion)
    app.open(prompt=PROMPT, prompt_b=f"{PROMPT} one", side="a")
    app.page.evaluate(FADES)
    picture = app.picture()
    app.page.get_by_role("radiogroup", name="Show").get_by_role("radio", name="B", exact=True).click()
    app.changed_from(picture)
    expect(app.page.locator("body > .flying")).to_have_count(0)  # they do not stay
    fades = app.page.evaluate("window.fades.size")
    hover = app.page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--hover')")
    app.page.emulate_media(reduced_motion=None)
    assert fades == (motion == "no-preference")
    assert (hover == "0s") == (motion == "reduce")


@pytest.fixture
def window(browser: Browser, server: str) -> Iterator[Driver]:
    """A window of its own, whose requests can be held up."""
    driver = Driver(browser, server)
    yield driver
    driver.close()


def test_a_head_is_shown_before_python_has_heard_of_it(window: Driver, mini: Transformer) -> None:
    """What the page tells Python is kept back meanwhile; told, it changes nothing that is drawn."""
    kept_back: list[Callable[[], None]] = []
    keeping = False

    def hold(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def hear(message: str | bytes) -> None:
            kept_back.append(partial(server.send, message))
            if not keeping:
                kept_back.pop()()

        socket.on_message(hear)

    window.page.route_web_socket("**/_stcore/stream", hold)
    window.open(prompt=PROMPT, heads="0.0")
    keeping = True
    window.click_head(2, 3, shape=(mini.cfg.n_layers, mini.cfg.n_heads))
    expect(window.panels).to_have_count(2)
    added = window.panels.nth(1)
    expect(added.locator("figcaption")).to_contain_text("L2H3")
    expect(added.locator("canvas").first).not_to_have_js_property("width", 0)
    expected = _pattern(mini, 2, 3)
    visible = np.tril_indices(len(expected))
    ink = _ink(added.evaluate(CELLS, len(expected)))[visible]
    assert _darker_is_larger(ink, expected[visible])
    window.click_head(0, 0, shape=(mini.cfg.n_layers, mini.cfg.n_heads))
    expect(window.panels).to_have_count(1)
    keeping = False
    for tell in kept_back:
        tell()
    window.page.wait_for_url(re.compile(r"heads=2\.3(&|$)"))
    window.settle()
    expect(window.panels).to_have_count(1)
    assert np.array_equal(_ink(window.panels.nth(0).evaluate(CELLS, len(expected)))[visible], ink)
    assert not window.complaints


def test_a_head_is_asked_for_once_while_others_are_chosen(window: Driver, mini: Transformer) -> None:
    requests: list[Route] = []
    window.page.route("**/fetch/**", lambda route: requests.append(route))
    window.open(prompt=PROMPT, heads="0.0")
    for head in range(3):
        window.click_head(2, head, shape=(mini.cfg.n_layers, mini.cfg.n_heads))
    window.page.wait_for_url(re.compile(r"heads=0\.0\+2\.0\+2\.1\+2\.2"))
    assert len(requests) == 3
    for route in requests:
        route.continue_()
    expect(window.panels).to_have_count(4)


def test_a_head_that_cannot_be_fetched_comes_from_python(window: Driver, mini: Transformer) -> None:
    window.page.route("**/fetch/**", lambda route: route.abort())
    window.open(prompt=PROMPT, heads="0.0")
    window.click_head(2, 3, shape=(mini.cfg.n_layers, mini.cfg.n_heads))
    expect(window.panels).to_have_count(2)
    expect(window.panels.nth(1).locator("figcaption")).to_contain_text("L2H3")


def test_pixels_show_the_pattern_that_the_model_computes(app: Driver, mini: Transformer) -> None:
    heads = [(0, 1), (1, 2), (mini.cfg.n_layers - 1, 0)]
    app.open(prompt=PROMPT, heads=" ".join(f"{layer}.{head}" for layer, head in heads))
    expect(app.panels).to_have_count(3)
    for panel, (layer, head) in zip(app.panels.all(), heads, strict=True):
        panel.scroll_into_view_if_needed()  # what is out of sight is not drawn
        expect(panel.locator("canvas").first).not_to_have_js_property("width", 0)
        expected = _pattern(mini, layer, head)
        visible = np.tril_indices(len(expected))
        ink, weights = _ink(panel.evaluate(CELLS, len(expected)))[visible], expected[visible]
        assert _darker_is_larger(ink, weights)
        assert np.ptp(ink) > 0.5  # from the background to far along the map
        assert np.all(ink[weights < 1e-6] == ink.min())


def test_pinned_token_colours_the_others_by_its_attention(app: Driver, mini: Transformer) -> None:
    app.open(prompt=PROMPT, heads="1.2")
    chips = app.chips.all()
    expected = _pattern(mini, 1, 2)[len(chips) - 1]
    chips[-1].click()
    expect(chips[-1]).to_have_class(re.compile("pinned"))
    app.settle()  # what the click has asked for is drawn
    read = "chips => chips.map(chip => getComputedStyle(chip).backgroundColor.match(/\\d+/g))"
    ink = _ink(app.chips.evaluate_all(read))
    assert _darker_is_larger(ink, expected)
    assert np.ptp(ink) > 0.2


def test_a_seventh_head_joins_the_six(app: Driver, mini: Transformer) -> None:
    app.open(prompt=PROMPT, heads="0.0 0.1 0.2 0.3 1.0 1.1")
    expect(app.panels).to_have_count(6)
    app.click_head(2, 2, shape=(mini.cfg.n_layers, mini.cfg.n_heads))
    expect(app.panels).to_have_count(7)
    expect(app.panels.filter(has_text="L2H2")).to_have_count(1)
    app.page.wait_for_url(re.compile(r"heads=0\.0\+0\.1\+0\.2\+0\.3\+1\.0\+1\.1\+2\.2"))


BARS = """() => {
    const roots = [...document.querySelectorAll("main *")].map(({ shadowRoot }) => shadowRoot).filter(Boolean);
    return roots.flatMap(root => [...root.querySelectorAll(".legend .scale")]).map(({ ariaLabel }) => ariaLabel);
}"""
WEIGHTS, CHANGES = "colour scale of attention weight, from 0 to 1", "colour scale of B − A: attention weight"


def test_a_measure_has_one_colour_bar_on_the_page(app: Driver) -> None:
    """Grid, heads and text share it; another one is there where a scale differs."""
    app.open(prompt=PROMPT)
    assert app.page.evaluate(BARS) == [WEIGHTS]
    app.open(prompt=PROMPT, scale="linear")  # the grid's goes by the root
    assert app.page.evaluate(BARS) == [WEIGHTS, WEIGHTS]
    app.open(prompt=PROMPT, prompt_b=f"{PROMPT} It slept.")
    changes, weights = sorted(app.page.evaluate(BARS))
    assert changes.startswith(CHANGES)
    assert weights == WEIGHTS


def test_the_last_token_is_marked_in_the_heads_until_another_is_pointed_at(app: Driver) -> None:
    app.open(prompt=PROMPT, heads="1.1")
    marks = """panel => {
        const canvas = panel.querySelector("canvas.marks"), context = canvas.getContext("2d");
        const left = parseFloat(getComputedStyle(panel.querySelector("figcaption")).marginLeft) * devicePixelRatio;
        const column = [...context.getImageData(left + 3, 0, 1, canvas.height).data].filter((_, at) => at % 4 === 3);
        return column.map((alpha, y) => [alpha, y]).filter(([alpha]) => alpha > 0).map(([, y]) => y);
    }"""
    n_places, panel = app.chips.count(), app.panels.first
    height = panel.locator(".plot").evaluate("plot => parseFloat(plot.style.width)")
    at_rest = panel.evaluate(marks)
    assert at_rest
    assert min(at_rest) > app.cell(n_places - 1, 0, n_places)["y"] - height / n_places
    app.chips.nth(3).hover()
    assert max(panel.evaluate(marks)) < min(at_rest)
