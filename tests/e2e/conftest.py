"""One server and one window for all tests; each opens a session of its own in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.e2e.driver import Driver
from tests.serving import headlight


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the server writes, in a folder of its own."""
    return tmp_path_factory.mktemp("server") / "log.txt"


@pytest.fixture(scope="session")
def server(log: Path) -> Iterator[str]:
    """The address of Headlight; a traceback in its log fails the last test."""
    with headlight(log.parent) as url:
        yield url
    assert "Traceback" not in log.read_text(), log.read_text()


@pytest.fixture(scope="session")
def first_window(browser: Browser, server: str) -> Iterator[Driver]:
    """The window, which to open anew takes a second longer than to open another address in it."""
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
