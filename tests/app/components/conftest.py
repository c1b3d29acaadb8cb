"""A Streamlit process that shows components, and a screen to see them on."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.serving import served

FIRST_DRAWING = 60_000  # milliseconds for a first drawing on a busy machine


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
    """A light screen of 1280 x 1000; its pages share one cache of Streamlit's files."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000}, color_scheme="light")
    yield context
    context.close()


@pytest.fixture
def open_heads(desktop: BrowserContext, address: str) -> Iterator[Callable[[str], Page]]:
    """Opens a page of heads with a query string."""
    page = desktop.new_page()

    def opened(query: str) -> Page:
        page.goto(f"{address}&{query}")
        expect(page.locator(".panels .panel canvas").first).not_to_have_js_property("width", 0, timeout=FIRST_DRAWING)
        return page

    yield opened
    page.close()
