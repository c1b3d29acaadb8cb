"""How soon the panel of a clicked cell is filled, on GPT-2-small's shape: `make bench ARGS=why`.

In Chromium on loopback, at 64 tokens of random weights on two threads. A head of the map on the page *Why* is clicked,
which explains its strongest cell: the time is from the browser's click to the frame that shows the last of the panel.
Each click is on another head, for which nothing is known yet. Beside it is the time that the server's processor took,
in which what else the machine does does not count.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Locator

from tests.bench.machine import machine
from tests.bench.sessions import SHAPE, random_model
from tests.e2e.driver import Driver
from tests.serving import chromium, headlight

GOAL = 1.0  # seconds
TOKENS = 64
CLICKS = 12
WORDS = ("red", "cat", "river", "one", "Monday")
# Resolves when what the panel shows has been drawn anew and then left alone for so many milliseconds, and gives the
# time of the last change after the user's input.
WATCH = """([still]) => {
    window.begun = null;
    addEventListener("pointerdown", event => { window.begun = event.timeStamp; window.changed = null; }, true);
    const note = () => requestAnimationFrame(() => { if (window.begun !== null) window.changed = performance.now(); });
    const seen = new WeakSet();
    const watch = root => {
        if (seen.has(root)) return;
        seen.add(root);
        new MutationObserver(changes => { note(); changes.forEach(change => change.addedNodes.forEach(find)); })
            .observe(root, { childList: true, subtree: true, characterData: true });
    };
    const find = node => {
        if (!node.querySelectorAll) return;
        for (const each of [node, ...node.querySelectorAll("*")])
            if (each.shadowRoot) { watch(each.shadowRoot); find(each.shadowRoot); }
    };
    const main = document.querySelector("[data-testid=stMain]");
    watch(main);
    find(main);
    const fill = CanvasRenderingContext2D.prototype.fillRect;
    CanvasRenderingContext2D.prototype.fillRect = function (...rest) { fill.apply(this, rest); note(); };
}"""
STILL = "still => window.changed && performance.now() - window.changed > still"
STILL_MS = 700


def processor_seconds() -> float:
    """What the processes below this one have had of the processor, without the browser's."""
    ticks = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if "app" in (folder / "cmdline").read_text().split("\0") and _is_below(folder):
                ticks += sum(map(int, (folder / "stat").read_text().rpartition(")")[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _is_below(folder: Path) -> bool:
    return int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid()


def word(place: int) -> str:
    """A word of the prompt, each of them one token."""
    return WORDS[(place * 7 + place // 3) % len(WORDS)]


class Page:
    """The page *Why* of one prompt, in a window that notes when it is drawn."""

    def __init__(self, window: Driver) -> None:
        self.window = window
        prompt = "".join(f" {word(place)}" for place in range(TOKENS - 1))
        window.page.goto(f"{window.url}/?{urlencode({'page': 'why', 'prompt': prompt})}")
        self.map.wait_for()
        window.settle()
        window.page.evaluate(WATCH, [STILL_MS])

    @property
    def map(self) -> Locator:
        """Direct effects by layer and head."""
        return self.window.page.get_by_role("application", name="direct effect on target − distractor (logits), layer")

    def answer(self, act: Callable[[], None]) -> tuple[float, float]:
        """Seconds from the user's input to the last change that answers it, and of the processor."""
        before = processor_seconds()
        act()
        self.window.page.wait_for_function(STILL, arg=STILL_MS)
        self.window.page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
        self.window.page.wait_for_function(STILL, arg=STILL_MS)
        took = self.window.page.evaluate("window.changed - window.begun") / 1000
        return float(took), processor_seconds() - before


def clicks(page: Page) -> Iterator[tuple[float, float]]:
    """Another head each time, of one layer after the other."""
    box = page.map.locator("canvas")
    for place in range(CLICKS):
        page.map.scroll_into_view_if_needed()
        at = cell(box, place % SHAPE.n_layers, (5 * place + 3) % SHAPE.n_heads)
        yield page.answer(lambda at=at: page.window.page.mouse.click(*at))  # type: ignore[misc]


def cell(canvas: Locator, layer: int, head: int) -> tuple[float, float]:
    """The middle of a head's cell: the map's cells end at the canvas's right and lower edge."""
    box = canvas.bounding_box()
    assert box
    columns, row_height, edge = SHAPE.n_heads + 2, 24, 2
    width = (box["width"] - edge - 46) / columns
    x = box["x"] + box["width"] - edge - (columns - head - 0.5) * width
    return x, box["y"] + box["height"] - edge - (SHAPE.n_layers - layer - 0.5) * row_height


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as made, chromium() as browser:
        model = random_model(Path(made) / "gpt2-shaped")
        with headlight(Path(made), "--model", str(model), "--threads", "2") as url:
            page = Page(Driver(browser, url))
            time.sleep(1)
            waits, processor = zip(*clicks(page), strict=True)
        print(f"{machine()}, Chromium {browser.version}; {TOKENS} tokens, GPT-2-small's shape")
    met = "met" if max(waits) <= GOAL else "NOT met"
    print(f"median {statistics.median(waits):.2f} s, longest {max(waits):.2f} s; goal {GOAL:g} s: {met}")
    print(f"processor: median {statistics.median(processor):.2f} s, longest {max(processor):.2f} s")


if __name__ == "__main__":
    main()
