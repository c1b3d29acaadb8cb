"""When a page of Streamlit has done all that it began."""

import time
from pathlib import Path

from playwright.sync_api import Page

from tests.serving import PATIENCE

LISTENING = (Path(__file__).parent / "settled.js").read_text(encoding="utf-8")  # has to be put into the page at first


def settle(page: Page) -> None:
    """Wait until the server has answered, its script has ended and the page has done all that it began.

    What Playwright waits for by itself it looks for twice a second, and so finds late; this returns with the frame.

    Raises:
        TimeoutError: it never did; the message says what is waited for.
    """
    give_up = time.monotonic() + PATIENCE / 1000
    while not page.evaluate("settled()"):
        if time.monotonic() > give_up:
            raise TimeoutError(f"The page was not done after {PATIENCE} ms: {page.evaluate('unsettled()')}")
