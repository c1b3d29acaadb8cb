"""One server for all tests, and a new window for each."""

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


@pytest.fixture
def app(browser: Browser, server: str) -> Iterator[Driver]:
    """A window in which nothing may go wrong unseen: no request leaves the machine, no error reaches the console."""
    driver = Driver(browser, server)
    yield driver
    driver.close()
    assert not driver.outside
    assert not driver.complaints
