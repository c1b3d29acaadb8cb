"""What holds for every test: shapes are checked, results do not depend on the machine, nothing leaves it."""

import gc
import importlib
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import settings

from tests import slow
from tests.annotations import check_annotations
from tests.places import REAL

if TYPE_CHECKING:
    from playwright.sync_api import Browser

gc.disable()  # while all tests come in: there is nothing to collect, and looking for it takes half as long again
check_annotations("headlight.model")  # before anything imports it
torch.set_num_threads(1)  # the order of sums, and so their last bits, is the same wherever tests run
# A slow machine is no failure. `make test-quick` draws five examples, `make test` 25, and `make test-all` the others.
settings.register_profile("quick", deadline=None, max_examples=5)
settings.register_profile("headlight", deadline=None, max_examples=25)
settings.register_profile("all", deadline=None, max_examples=75)
settings.load_profile("headlight")

LOOPBACK = ("127.", "::1", "localhost")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a browser, and what is slow: neither is in `make test-quick`."""
    listed = slow.listed()
    for item in items:
        if "with_chromium" in item.fixturenames:
            item.add_marker("browser")
        if slow.is_slow_by_kind(item) or slow.name(item) in listed:
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    """From here on it is collected, but for what has come in."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _nothing_leaves_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that would reach another machine fails, with the address in the message."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: tuple[str, int]) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not address[0].startswith(LOOPBACK):
            pytest.fail(f"a test opened a connection to {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def _main_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page's test leaves its script as the main module, which a process that another test starts would run again."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.fixture(scope="session")
def with_chromium() -> None:
    """Tests without an installed Chromium are skipped, unless HEADLIGHT_REQUIRE_BROWSER is set."""
    from tests.serving import chromium_path

    if chromium_path() is None and "HEADLIGHT_REQUIRE_BROWSER" not in os.environ:
        pytest.skip("no Chromium on the path")


@pytest.fixture(scope="session")
def browser(with_chromium: None) -> Iterator["Browser"]:
    """Chromium, driven by Playwright."""
    from tests.serving import chromium  # here: Playwright is much to import for the other tests

    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def real() -> Iterator[Path]:
    """The folder of packages that bring real models, on the path; tests without it are skipped, unless required."""
    if not (REAL / "installed").exists() and "HEADLIGHT_REQUIRE_REAL" not in os.environ:
        pytest.skip("no real models in .venv/real, which `make test-all` installs where there is a network")
    sys.path.append(str(REAL))
    importlib.invalidate_caches()
    yield REAL
    sys.path.remove(str(REAL))


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the server writes, in a folder of its own."""
    return tmp_path_factory.mktemp("server") / "log.txt"


@pytest.fixture(scope="session")
def server(log: Path) -> Iterator[str]:
    """The address of Headlight, one server for all tests of a worker; a traceback in its log fails the last of them.

    The pages' error boundary logs one too.
    """
    from tests.serving import headlight

    with headlight(log.parent, "--threads", "1") as url:
        yield url
    assert "Traceback" not in log.read_text(), log.read_text()
