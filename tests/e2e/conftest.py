"""Two windows for all tests of a worker; each opens sessions of its own in them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.e2e.driver import Driver


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One walk through each page is for `make test`; all that is done further on a page is thorough."""
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here and item.path.name != "test_walk.py":
            item.add_marker("thorough")


@pytest.fixture(scope="session")
def first_window(browser: Browser, server: str) -> Iterator[Driver]:
    """The window, which to open anew takes a second longer than to open another address in it."""
    driver = Driver(browser, server)
    yield driver
    driver.close()


@pytest.fixture(scope="session")
def second_window(browser: Browser, server: str) -> Iterator[Driver]:
    """Another window, that knows of the first what is in an address."""
    driver = Driver(browser, server)
    yield driver
    driver.close()


@pytest.fixture
def app(first_window: Driver) -> Iterator[Driver]:
    """The window, in which nothing may go wrong unseen: no request leaves the machine, no error reaches the console."""
    first_window.clear()
    yield first_window
    assert not first_window.outside
    assert not first_window.complaints


@pytest.fixture
def elsewhere(second_window: Driver) -> Iterator[Driver]:
    """Somebody else's window."""
    second_window.clear()
    yield second_window
    assert not second_window.complaints
