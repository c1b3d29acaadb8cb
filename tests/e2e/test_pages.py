"""Every page: what a typed prompt changes on it, what it says of a link that it cannot read whole, and that it fits."""

import re
import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Browser, expect

from headlight.app.frame.view import View
from tests.e2e.driver import PICTURE, PROMPTED_VIEWS, Driver
from tests.e2e.fitting import check_fits

PROMPT = "When Mary and John went to the shop, John gave a drink to"
OTHER = "The keys to the cabinet"
WIDTHS = (1280, 900, 680, 390)  # of windows; the last is a phone's, in which Run stands below the prompt
OF_NO_PROMPT = ("heads", "weights", "corpus", "patching", "experiments")  # of the model alone, of two prompts or a set

# What the browser holds for the components.
LOSE = """() => {
    const { scripts, arrays } = globalThis[Symbol.for("headlight")];
    scripts.clear();
    arrays.clear();
}"""


def test_a_screen_reader_hears_what_is_shown_and_what_is_refused(app: Driver) -> None:
    app.open(prompt=PROMPT)
    heard = app.page.locator(".st-key-headlight-navigation [aria-live]")
    expect(heard).to_have_text(f"Shown: {PROMPT}")
    app.run("  ")
    expect(heard).to_contain_text("2 spaces")
    app.go_to(PROMPTED_VIEWS[1])
    expect(heard).to_have_text(PROMPTED_VIEWS[1].title)
    app.run(OTHER)
    expect(heard).to_have_text(f"Shown: {OTHER}")


def test_a_browser_that_lost_scripts_and_arrays_gets_them_again(app: Driver) -> None:
    """As when the message that they came with was overtaken by the next one."""
    app.open(prompt=PROMPT)
    drawn = app.picture()
    app.go_to(PROMPTED_VIEWS[2])
    app.page.evaluate(LOSE)
    app.go_to(PROMPTED_VIEWS[0])
    app.page.wait_for_function(f"drawn => ({PICTURE})() === drawn", arg=drawn)
    expect(app.page.get_by_role("navigation", name="Pages")).to_have_count(1)  # it was there all the time


@pytest.fixture(scope="module")
def dark(browser: Browser, server: str) -> Iterator[Driver]:
    driver = Driver(browser, server, "dark")
    yield driver
    driver.close()
    assert not driver.complaints


@pytest.mark.parametrize("view", PROMPTED_VIEWS, ids=lambda view: view.slug)
def test_a_dark_page_says_what_of_its_link_is_left_out_fits_every_window_and_shows_what_is_typed(
    dark: Driver, view: View
) -> None:
    """Light pages, of whose links nothing is left out, are those of the first screen's tests."""
    dark.open(view, prompt=PROMPT, heads="9.9 x", scale="cubic")
    expect(dark.page.get_by_text("Parts of this link were ignored")).to_contain_text("scale")
    expect(dark.fed).to_have_count(1)
    for width in WIDTHS:
        dark.page.set_viewport_size({"width": width, "height": 900})
        dark.settle()
        check_fits(dark)
    before = dark.picture()
    dark.run(OTHER)
    dark.page.wait_for_url(lambda url: parse_qs(urlparse(url).query)["prompt"] == [OTHER])
    expect(dark.fed).to_contain_text(re.compile(r"\b[5-9] input tokens"))
    if view.slug in OF_NO_PROMPT:
        dark.settle()
    else:
        dark.changed_from(before)


def test_a_font_that_comes_late_is_in_every_picture(app: Driver, browser: Browser, server: str) -> None:
    """Canvas text stays as it was drawn: what is drawn before the font has come is drawn once more."""
    app.open(prompt=PROMPT)
    late = Driver(browser, server)
    late.page.route("**/*.woff2", lambda route: time.sleep(1.5) or route.continue_())
    late.page.goto(app.page.url)
    late.becomes(app.picture())
    late.close()


def test_the_fonts_are_asked_for_before_the_first_text(browser: Browser, server: str) -> None:
    """Texts that have been laid out in another font are laid out again, which the reader sees."""
    app = Driver(browser, server)
    app.open(prompt=PROMPT)
    entries = app.page.evaluate(
        "() => performance.getEntriesByType('resource').map((each) => [each.name, each.startTime])"
    )
    began = {url.rpartition("/")[2]: at for url, at in reversed(entries)}  # of several the first
    fonts = [name for name in began if name.endswith("-latin.woff2")]
    assert sorted(fonts) == ["inter-latin.woff2", "jetbrains-mono-latin.woff2"]
    assert max(began[name] for name in fonts) < began["host-config"]  # which Streamlit asks for before it connects
    app.close()


def test_a_font_that_is_never_shown_is_not_asked_for(browser: Browser, server: str) -> None:
    """Streamlit names its own code font behind the browser's: to wait for that would be to draw everything twice."""
    app = Driver(browser, server)
    app.open(prompt=PROMPT)
    assert app.requests
    assert not [url for url in app.requests if "SourceCode" in url]
    app.close()
