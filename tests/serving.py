"""What browser tests and the manual's pictures need: a page, served as `make run` serves Headlight, and a browser."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread
from urllib.request import urlopen

from playwright.sync_api import Browser, expect, sync_playwright

from headlight.app.server.settings import SERVER
from tests.places import ROOT

MAKE_RUN = (sys.executable, "-m", "headlight.app")
START_SECONDS = 120  # on a busy machine, two processes too
DRAIN_SECONDS = 5  # that a server may take to stop
PATIENCE = 60_000  # milliseconds that anything may take to be seen on a busy machine
# The first two let it run as root and without a screen; the rest keep it from calling its maker.
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium_path() -> str | None:
    """An installed Chromium or Chrome; None if there is none."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def headlight(
    folder: Path,
    *flags: str,
    port: int = 0,
    command: Sequence[str] = MAKE_RUN,
    working: Path = ROOT,
    **environment: str,
) -> Iterator[str]:
    """The address of Headlight as `make run`, or another command, serves it; its log and caches are in the folder.

    The variables of the `environment` are set beside those that there are.

    Raises:
        RuntimeError: it did not start; the message is its log.
    """
    port = port or free_port()
    own = {"HEADLIGHT_PORT": str(port), **environment}
    with _server([*command, *flags], folder, port, working, "healthz", **own) as url:
        yield url


@contextmanager
def served(script: str, folder: Path) -> Iterator[str]:
    """The same for another Streamlit script, with Headlight's configuration."""
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / script)]
    # It works where Streamlit then finds the configuration.
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with _server(command, folder, free_port(), SERVER.parent, PYTHONPATH=path) as url:
        yield url


@contextmanager
def jupyter_lab(folder: Path) -> Iterator[str]:
    """The address of JupyterLab, which serves a folder to who is here, and keeps its settings below that."""
    port, own = free_port(), folder / ".jupyter"
    own.mkdir()
    settings = {f"JUPYTER_{kind}_DIR": str(own / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"]
    command += [f"--ServerApp.root_dir={folder}", "--IdentityProvider.token=", "--LabApp.extension_manager=readonly"]
    command += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", "--LabApp.news_url=None"]
    with _server(command, own, port, folder, "api", IPYTHONDIR=str(own / "ipython"), **settings) as url:
        yield url


@contextmanager
def _server(
    command: list[str], folder: Path, port: int, working: Path, healthy: str = "_stcore/health", **besides: str
) -> Iterator[str]:
    environment = os.environ | {
        "STREAMLIT_SERVER_PORT": str(port),
        "STREAMLIT_SERVER_HEADLESS": "true",
        "HF_HOME": str(folder / "hub"),
        "HF_ENDPOINT": f"http://127.0.0.1:{free_port()}",  # nobody listens there
        **besides,
    }
    log = folder / "log.txt"
    with _asking_nobody() as proxies:
        with log.open("a") as output:
            environment |= proxies
            server = subprocess.Popen(command, cwd=working, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            _wait_for(f"http://127.0.0.1:{port}/{healthy}", server, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(timeout=PATIENCE / 1000)


@contextmanager
def _asking_nobody() -> Iterator[dict[str, str]]:
    """The variables that name a proxy, which nothing may ask for another machine."""
    requests = list[str]()

    class Proxy(BaseRequestHandler):
        def handle(self) -> None:
            requests.append(self.request.recv(1000).decode("latin-1").partition("\r\n")[0])

    with ThreadingTCPServer(("127.0.0.1", 0), Proxy) as proxy:
        Thread(target=proxy.serve_forever, daemon=True).start()
        address = "http://{}:{}".format(*proxy.server_address)
        names = ("http_proxy", "https_proxy", "all_proxy")
        here = dict.fromkeys(("no_proxy", "NO_PROXY"), "127.0.0.1,localhost")
        yield {variable: address for name in names for variable in (name, name.upper())} | here
        proxy.shutdown()
    assert not requests, f"the server asked another machine: {requests}"


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(url: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    give_up = time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < give_up:
        try:
            urlopen(url, timeout=5).close()
            return
        except OSError:  # it does not listen yet, or not answer in time
            time.sleep(0.1)
    raise RuntimeError(f"The page did not start:\n{log.read_text()}")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless browser, in which nothing that is expected has to be there at once."""
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_FLAGS)
        yield browser
        browser.close()
