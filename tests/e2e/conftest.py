"""Two windows for all tests of a worker; each opens sessions of its own in them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.e2e.driver import Driver
from tests.e2e.sets_walk import with_real_models


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


@pytest.fixture(scope="module")
def first_session(first_window: Driver) -> Driver:
    """A session in the window for the tests of one file, each of which finds what those before it have left."""
    first_window.clear()
    return first_window


@pytest.fixture(scope="module")
def second_session(second_window: Driver) -> Driver:
    """Another one in the other window."""
    second_window.clear()
    return second_window


@pytest.fixture
def app(first_session: Driver) -> Iterator[Driver]:
    """The window, in which nothing may go wrong unseen: no request leaves the machine, no error reaches the console."""
    first_session.begin()
    yield first_session
    assert not first_session.outside
    assert not first_session.complaints


@pytest.fixture
def elsewhere(second_session: Driver) -> Iterator[Driver]:
    """Somebody else's window."""
    second_session.begin()
    yield second_session
    assert not second_session.complaints


@pytest.fixture
def own_session(app: Driver) -> None:
    """The test has a session to itself, for what one remembers: its prompts, and what was opened or scrolled to."""
    app.clear()


@pytest.fixture
def with_smollm2(browser: Browser, real: Path, tmp_path: Path) -> Iterator[Driver]:
    """A window on a server that has the packages of real models."""
    with with_real_models(tmp_path) as url:
        driver = Driver(browser, url)
        yield driver
        driver.close()
        assert not driver.complaints
        assert not driver.outside
