"""A real Chromium, and a Streamlit process that shows the components."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, sync_playwright

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The machine's Chromium."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip("needs a Chromium on the path")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=SWITCHES)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where page.py is served."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "server.address": "127.0.0.1",
        "server.port": port,
        "server.headless": "true",
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "streamlit", "run", str(HERE / "page.py"), *flags]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL) as server:
        wait_until_served(f"http://127.0.0.1:{port}/_stcore/health")
        yield f"http://127.0.0.1:{port}"
        server.terminate()


def wait_until_served(url: str, seconds: float = 30) -> None:
    """Return when the address answers.

    Raises:
        TimeoutError: it did not in the time given.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with urlopen(url):
                return
        except URLError:
            time.sleep(0.1)
    raise TimeoutError(f"{url} did not answer in {seconds} s")
