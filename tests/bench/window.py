"""A browser's window that tells nothing unless it is asked, so that measuring takes nothing from what is measured.

Playwright has the browser tell it of all that goes over the network, each message of Headlight's websocket whole, and
asks at each frame whether something has come; the longer the prompt, the more of what is measured goes into that. This
speaks the browser's own protocol, asks for no reports, and waits by one question that the page answers.
Source: https://chromedevtools.github.io/devtools-protocol/
"""

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.serving import CHROMIUM_FLAGS, START_SECONDS, chromium_path

WATCH = Path(__file__).parent / "watch.js"
WIDTH, HEIGHT = 1280, 1000  # CSS pixels


@dataclass(frozen=True)
class Browser:
    """A headless Chromium, by the websocket on which it takes commands."""

    socket: ClientConnection
    numbers: Iterator[int] = field(default_factory=count)

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """What the browser, or the window of a session, answers to a command of its protocol.

        Raises:
            RuntimeError: it refused; the message says why.
        """
        number = next(self.numbers)
        to = {"sessionId": session} if session else {}
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters} | to))
        while (answer := json.loads(self.socket.recv())).get("id") != number:
            """Something else happened, as that a window was opened."""
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    @property
    def version(self) -> str:
        """The browser's version, as 155.0.8059.0."""
        return str(self.call("Browser.getVersion")["product"]).partition("/")[2]


@contextmanager
def browser() -> Iterator[Browser]:
    """A headless browser with nothing kept from before.

    Raises:
        RuntimeError: it did not start.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        flags = ["--headless", *CHROMIUM_FLAGS, "--remote-debugging-port=0", f"--user-data-dir={profile}"]
        with subprocess.Popen([str(chromium_path()), *flags], stderr=subprocess.DEVNULL) as process:
            try:
                with connect(_address(Path(profile) / "DevToolsActivePort", process), max_size=None) as socket:
                    yield Browser(socket)
            finally:
                process.terminate()


def _address(port_file: Path, process: "subprocess.Popen[bytes]") -> str:
    """The websocket that a browser has just told of, in a line for its port and one for the rest."""
    give_up = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < give_up:
        if port_file.exists() and len(lines := port_file.read_text().splitlines()) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        time.sleep(0.05)
    raise RuntimeError("The browser did not start.")


class Window:
    """A window that shares nothing with others, whose page marks what it draws and when (watch.js)."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.context = browser.call("Target.createBrowserContext")["browserContextId"]
        opened = browser.call("Target.createTarget", url="about:blank", browserContextId=self.context)
        self.session = browser.call("Target.attachToTarget", targetId=opened["targetId"], flatten=True)["sessionId"]
        self.call("Page.enable")  # else no script can be added
        self.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH.read_text())
        self.resize(WIDTH, HEIGHT)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the browser's protocol to this window."""
        return self.browser.call(method, self.session, **parameters)

    def resize(self, width: int, height: int) -> None:
        """Make the page so large, in CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def ask(self, function: str, *arguments: Any) -> Any:
        """What a function of the page, one of watch.js's or another, returns or promises.

        Raises:
            RuntimeError: it threw; the message is that of its error.
        """
        expression = f"({function})(...{json.dumps(arguments)})"
        reply = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in reply:
            raise RuntimeError(reply["result"].get("description", reply["exceptionDetails"]["text"]))
        return reply["result"].get("value")

    def open(self, url: str) -> None:
        """Go to a page; its script is there when this returns, what it draws is not."""
        self.call("Page.navigate", url=url)

    def to_front(self) -> None:
        """A window that is not in front is drawn seldom."""
        self.call("Page.bringToFront")

    def click(self, selector: str, text: str = "", across: float = 0.5, down: float = 0.5) -> None:
        """Click on an element, shares of its width and height from its corner, as soon as it is there."""
        left, top, width, height = self.ask("watched.box", selector, text)
        at = {"x": left + across * width, "y": top + down * height}
        self.move(**at)
        for type in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=type, button="left", clickCount=1, **at)

    def move(self, x: float, y: float) -> None:
        """Point at a place of the page, in CSS pixels."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def fill(self, selector: str, text: str) -> None:
        """Put a text in the place of what stands in a box."""
        self.ask("async (selector) => (await watched.find(selector)).select()", selector)
        self.call("Input.insertText", text=text)

    def last(self, mark: str) -> float:
        """When a mark was set last, in milliseconds since the page began to load; before any, 0."""
        return float(self.ask("watched.last", mark))

    def drawn(self, mark: str, since: float) -> float:
        """When a mark was set last, once it is newer than `since` and the page is still, the server's script ended."""
        return float(self.ask("watched.drawn", mark, since))

    def close(self) -> None:
        """Close the window and forget what it stored."""
        self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)
