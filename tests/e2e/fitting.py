"""Whether a page fits its window: nothing is wider, nothing lies over something else, and its picture begins high."""

from collections.abc import Iterator
from typing import Literal

from headlight.app.frame.view import View
from tests.e2e.driver import DRAWN, Driver

How = Literal["alone", "compared"]

SIZES = ((1440, 900), (1280, 800), (1920, 900), (900, 900), (390, 844))
DESKTOP = 1280  # from here on
# CSS pixels from the top of the window; with a B there are a line more in the bar and one more below it.
# The finding is a heading of its own above the picture, and on a phone a control is as high as a finger is wide.
LOWEST = {"alone": 310, "compared": 350}
LOWEST_IN_LESS = {"alone": 520, "compared": 720}
# What a page is about, by the key of its place; of those, the first that is drawn.
PICTURES = {
    "attention": "strip",
    "inside": "steps_A",
    "residual": "norms-A",
    "lens": "lens",
    "prompts": "prompt_table",
    "why": "why_fall",
    "patching": "patched",
    "experiments": "experiment",
    "flow": "flow_A",
    "mlp": "figure",
    "features": "features_map",
    "graph": "graph_picture",
    "heads": "finder",
    "directions": "view",
    "corpus": "corpus_scatter",
    "weights": "pairs_Highest",
    "generate": "generate_bars",
    "translate": "strip",
}
WEIGHTS_COMPARED = "singular_values"
# Elements of the page's body that lie over each other without being inside each other.
OVERLAPS = """() => {
    const all = document.querySelectorAll('[data-testid="stMain"] [data-testid="stElementContainer"]');
    const parts = [...all].filter(part => !part.closest('.st-key-headlight-graph-card')); // which stays in sight
    const placed = parts.map(part => [part, part.getBoundingClientRect()]);
    const shown = placed.filter(([, box]) => box.width > 1 && box.height > 1);
    const isRun = part => part.matches('[class*=FormSubmitter-headlight-bar-Run]');
    const isPrompt = part => part.querySelector(':scope > .stTextArea');
    const isRunInPrompt = (one, other) => innerWidth < 640 && isRun(one) && isPrompt(other); // as on any phone
    const besides = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1;
    const above = (a, b) => a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
    return shown.flatMap(([one, a]) => shown
        .filter(([other]) => one !== other && !one.contains(other) && !other.contains(one))
        .filter(([other]) => !isRunInPrompt(one, other) && !isRunInPrompt(other, one))
        .filter(([, b]) => !besides(a, b) && !above(a, b))
        .map(([other]) => `${one.className} over ${other.className}`));
}"""
# By how many pixels the page and its body are wider than their windows.
EXCESS = """() => [document.scrollingElement, document.querySelector('[data-testid="stMain"]')]
    .map(element => element.scrollWidth - element.clientWidth)"""


def check_fits(app: Driver) -> None:
    """A page that has something drawn, in the window as it is."""
    assert app.page.evaluate(EXCESS) == [0, 0]
    assert app.page.evaluate(OVERLAPS) == []
    assert app.page.locator(DRAWN).count() > 0


def check_fits_every_window(app: Driver) -> None:
    """A page that is open, in one window after the other."""
    for _ in _in_every_window(app):
        """Fits, or is an error."""


def check_first_screen(app: Driver, view: View, how: How) -> None:
    """The same, and what the page is about begins high in each."""
    lowest = {width: (LOWEST_IN_LESS if width < DESKTOP else LOWEST)[how] for width, _ in SIZES}
    tops = {width: _top(app, view, how) for width in _in_every_window(app)}
    assert all(tops[width] <= lowest[width] for width in tops), tops


def _in_every_window(app: Driver) -> Iterator[int]:
    """The widths of the windows, each for as long as the page is in it."""
    for width, height in SIZES:
        app.page.set_viewport_size({"width": width, "height": height})
        app.settle()
        check_fits(app)
        yield width


def _top(app: Driver, view: View, how: How) -> float:
    """Where the page's main picture begins: the highest of its canvases, or its plot, table or list."""
    name = WEIGHTS_COMPARED if how == "compared" and view.slug == "weights" else PICTURES[view.slug]
    place = app.page.locator(f"[class*=st-key-headlight-{name}]")
    drawn = place.locator("canvas, .js-plotly-plot, [role=grid], table, [role=listbox]").filter(visible=True)
    return float(drawn.evaluate_all("all => Math.min(...all.map(each => each.getBoundingClientRect().top))"))
