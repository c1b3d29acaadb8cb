"""A component whose script was lost on its way says so until it is heard, and no longer."""

from playwright.sync_api import Browser, expect

from tests.app.components.conftest import FIRST_DRAWING

PAGE = "lost_page.py"


def test_it_asks_until_it_is_heard_and_no_longer(browser: Browser, address: str) -> None:
    page = browser.new_page()  # whose clock is that of no other page
    page.clock.install()
    page.goto(f"{address}&sent_at=4")
    expect(page.get_by_role("heading", name="There")).to_be_visible(timeout=FIRST_DRAWING)
    expect(page.get_by_text("run 4", exact=True)).to_be_visible()
    page.clock.run_for(20_000)
    expect(page.get_by_text("run 4", exact=True)).to_be_visible()
    page.close()
