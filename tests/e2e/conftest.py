"""One server for all tests, and a new window for each."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.e2e.driver import Driver
from tests.serving import served


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of Headlight; a traceback in its log fails the last test."""
    folder = tmp_path_factory.mktemp("server")
    with served("app/main.py", folder) as url:
        yield url
    log = (folder / "log.txt").read_text()
    assert "Traceback" not in log, log


@pytest.fixture
def app(browser: Browser, server: str) -> Iterator[Driver]:
    """A window in which nothing may go wrong unseen: no request leaves the machine, no error reaches the console."""
    driver = Driver(browser, server)
    yield driver
    driver.close()
    assert not driver.outside
    assert not driver.complaints
