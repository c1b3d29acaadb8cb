"""The tutorial's walk from "why this word?" to a named circuit of `mini`: five stops, four clicks."""

from collections.abc import Iterator

from playwright.sync_api import expect

from headlight.app.registry import VIEWS
from tests.e2e.driver import Driver

PROMPT = "The quick brown fox found a small key near the river. The quick brown fox found a small"


def walk(app: Driver) -> Iterator[str]:
    """Go from stop to stop, wait at each until all is drawn, and tell what leads there."""
    app.open(VIEWS[0], prompt=PROMPT)
    app.page.get_by_role("button", name="Why?").click()
    expect(app.page.get_by_role("heading", name="Over layers and heads")).to_be_visible()
    app.settle()
    yield "Why?"
    expect(app.page.get_by_text("23 ␣small looks at 10 ␣key")).to_be_visible()
    yield "L1H0, which has the largest effect, below it"
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
