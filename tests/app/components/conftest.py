"""A Streamlit process that shows components, and a screen to see them on."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from tests.e2e.settling import LISTENING, settle
from tests.serving import served

FIRST_DRAWING = 60_000  # milliseconds for a first drawing on a busy machine
SCREEN: ViewportSize = {"width": 1280, "height": 1000}


@pytest.fixture(scope="session")
def component_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where all pages of components are served."""
    with served("tests/app/components/any_page.py", tmp_path_factory.mktemp("components")) as url:
        yield url


@pytest.fixture(scope="module")
def address(request: pytest.FixtureRequest, component_server: str) -> str:
    """That of the page that the test file names as `PAGE`, or of page.py; more of a query may follow it."""
    return f"{component_server}/?of={getattr(request.module, 'PAGE', 'page.py')}"


@pytest.fixture(scope="session")
def desktop(browser: Browser) -> Iterator[BrowserContext]:
    """A light screen, whose tabs share one cache of Streamlit's files."""
    context = browser.new_context(viewport=SCREEN, color_scheme="light")
    context.add_init_script(LISTENING)
    yield context
    context.close()


@pytest.fixture(scope="session")
def used_tab(desktop: BrowserContext) -> Page:
    """The tab of that screen in which tests open their pages one after the other."""
    return desktop.new_page()


@pytest.fixture
def tab(used_tab: Page) -> Page:
    """That tab as if it were new; in a new one the browser would have to read all of Streamlit's scripts again."""
    used_tab.set_viewport_size(SCREEN)
    used_tab.mouse.move(0, 0)
    return used_tab


def go(page: Page, address: str) -> Page:
    """Open an address in a tab of that screen, and wait until all is drawn."""
    page.goto(address)
    settle(page)
    return page


@pytest.fixture
def open_heads(tab: Page, address: str) -> Callable[[str], Page]:
    """Opens a page of heads with a query string."""

    def opened(query: str) -> Page:
        go(tab, f"{address}&{query}")
        expect(tab.locator(".panels .panel canvas").first).not_to_have_js_property("width", 0, timeout=FIRST_DRAWING)
        return tab

    return opened
