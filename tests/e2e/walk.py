"""The tutorial's walk from "why this word?" to a named circuit of `mini`, in five clicks."""

import re
from collections.abc import Iterator

from playwright.sync_api import expect

from headlight.app.registry import VIEWS
from tests.e2e.driver import Driver

PROMPT = "The quick brown fox found a small key near the river. The quick brown fox found a small"
ABOVE, ROW = 18, 20  # pixels of the map: what is over the first row, and a row
COLUMN, FIRST_HEAD = 74, 75  # a column, as wide as it may be, and the middle of the first
INDUCTION = (1, 0)  # the head with the largest direct effect on the prediction


def walk(app: Driver) -> Iterator[str]:
    """Click, wait until all is drawn, and tell what was clicked, five times."""
    app.open(VIEWS[0], prompt=PROMPT)
    app.page.get_by_role("button", name="Why?").click()
    expect(app.page.get_by_role("heading", name="Over layers, heads and tokens")).to_be_visible()
    app.settle()
    yield "Why?"
    _click_in_map(app, *INDUCTION)
    app.page.wait_for_url(re.compile(r"heads=1\.0"))
    expect(app.page.get_by_text("23 ␣small looks at 10 ␣key")).to_be_visible()
    app.settle()
    yield "L1H0"
    app.page.get_by_role("button", name="L0H0 at 10 ␣key").click()
    expect(app.page.get_by_text("10 ␣key looks at 9 ␣small")).to_be_visible()
    app.settle()
    yield "L0H0 at 10 ␣key"
    app.page.get_by_role("button", name="Roles of these heads").click()
    expect(app.page.get_by_role("button", name="previous token 2")).to_be_visible()
    app.settle()
    yield "Roles of these heads"
    app.page.get_by_role("button", name="Open L0H0, L1H0 on Attention").click()
    expect(app.panels).to_have_count(2)
    app.settle()
    yield "Open L0H0, L1H0 on Attention"


def _click_in_map(app: Driver, layer: int, head: int) -> None:
    """Click a head in the map of direct effects, whose rows begin at its upper edge."""
    canvas = (
        app.page.get_by_role("application", name=re.compile("direct effect .*layer by head")).locator("canvas").first
    )
    canvas.scroll_into_view_if_needed()
    app.settle()
    canvas.click(position={"x": FIRST_HEAD + head * COLUMN, "y": ABOVE + ROW * (layer + 0.5)})
