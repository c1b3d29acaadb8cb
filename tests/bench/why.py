"""How soon the panel of a clicked cell is filled, on GPT-2-small's shape: `make bench ARGS=why`.

In Chromium on loopback, at 64 tokens of random weights on two threads. A head of the map on the page *Why* is clicked,
which explains its strongest cell: the time is from the browser's click to the frame that shows the last of the panel.
Each click is on another head, for which nothing has been computed yet. The processor time of the server is printed as
well: other load on the machine does not change it.
"""

import os
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import count, islice
from pathlib import Path
from urllib.parse import urlencode

from tests.bench.machine import machine
from tests.bench.sessions import SHAPE, random_model
from tests.bench.ui import answer, prompts
from tests.bench.window import Window, browser
from tests.serving import headlight

GOAL = 1.0  # seconds
TOKENS = 64
CLICKS = 12
MAP = '[role=application][aria-label^="direct effect on target"][aria-label*=", layer by head,"] canvas'


def processor_seconds() -> float:
    """Processor time of the server that this process started, without the browser's."""
    ticks = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if "app" in (folder / "cmdline").read_text().split("\0") and _is_below(folder):
                ticks += sum(map(int, (folder / "stat").read_text().rpartition(")")[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _is_below(folder: Path) -> bool:
    return int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid()


def clicks(window: Window, url: str, n_layers: int, n_heads: int, n_tokens: int) -> Iterator[tuple[float, float]]:
    """Seconds until the panel of another head is filled, by the browser's clock and of the server's processor."""
    window.open(f"{url}/?{urlencode({'page': 'why', 'prompt': next(prompts(n_tokens))})}")
    window.drawn("whole", 0)
    for place in count():
        across, down = cell(window, n_heads, place % n_layers, (5 * place + 3) % n_heads)
        before = processor_seconds()
        took = answer(window, partial(window.click, MAP, across=across, down=down), "whole")
        yield took / 1000, processor_seconds() - before


def cell(window: Window, n_heads: int, layer: int, head: int) -> tuple[float, float]:
    """The middle of a head's cell in shares of the map; after the heads come columns of the MLP and of sums."""
    _, _, width, height = window.ask("watched.box", MAP)
    labels, edge, above, row_height = 33, 2, 18, 20  # CSS pixels, as cell_map/picture.js draws
    pitch = (width - labels - edge) / (n_heads + 2)
    return (labels + (head + 0.5) * pitch) / width, (above + (layer + 0.5) * row_height) / height


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as made, browser() as chromium:
        model = random_model(Path(made) / "gpt2-shaped")
        with headlight(Path(made), "--model", str(model), "--threads", "2") as url:
            times = islice(clicks(Window(chromium), url, SHAPE.n_layers, SHAPE.n_heads, TOKENS), CLICKS)
            waits, processor = zip(*times, strict=True)
        print(f"{machine()}, Chromium {chromium.version}; {TOKENS} tokens, GPT-2-small's shape")
    met = "met" if max(waits) <= GOAL else "NOT met"
    print(f"median {statistics.median(waits):.2f} s, longest {max(waits):.2f} s; goal {GOAL:g} s: {met}")
    print(f"processor: median {statistics.median(processor):.2f} s, longest {max(processor):.2f} s")


if __name__ == "__main__":
    main()
