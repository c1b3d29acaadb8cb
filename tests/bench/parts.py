"""Our own parts beside the library's: `python -m tests.bench.parts [part...]`, or `make bench-parts`.

Two servers show Headlight, one of them with Streamlit's or Plotly's own part in the place of ours (library.py), and
take turns: pages that have the part are changed to and opened in new windows. Told are the times to the last picture
in sight, to the last drawing of the part itself if it is drawn anew, and to that of the whole page.

Prints a table and writes all times to assets/benchmarks/parts.json.
"""

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlencode

from headlight.app.figures import files
from headlight.app.pages.why import EXPORT as WHY
from headlight.app.registry import VIEWS
from headlight.app.runs import runs
from headlight.model.runs.comparison import Comparison
from tests.app.choosing import selection_of
from tests.bench import ui
from tests.bench.library import PARTS
from tests.bench.machine import machine
from tests.bench.ui_table import Times
from tests.bench.window import Browser, Window, browser
from tests.places import ROOT
from tests.serving import headlight

REPORT = ROOT / "assets" / "benchmarks" / "parts.json"
SWAPPED = (sys.executable, "-m", "tests.bench.swapped")
SIDES = ("ours", "library")
N_TOKENS, ROUNDS, LOADS = 64, 10, 8
# Pages that have the part and draw it unasked. Between them stands the first page, which begins.
PAGES = {
    "heading": ("inside", "lens"),
    "nav_bar": ("inside", "lens"),
    "tour": (),  # Streamlit's dialog lets nothing behind it be clicked
    "options": ("inside", "lens"),
    "row_table": ("prompts", "weights"),
    "cell_map": ("residual", "why", "prompts"),
    "token_bars": ("generate",),
}
FIRST = VIEWS[0].slug
PICTURES = ("row_table", "cell_map", "token_bars")  # which the first page has none of


@dataclass(frozen=True)
class Row:
    """What an act took with our part and with the library's, until the part, the pictures or all of it was `drawn`."""

    part: str
    act: str
    drawn: str
    ours: Times
    library: Times

    def __str__(self) -> str:
        """A line of the table."""
        sides = "".join(f"{_told(side):>24}" for side in (self.ours, self.library))
        saved, ratio = self.library.p50 - self.ours.p50, self.library.p50 / self.ours.p50
        return f"{self.part:12}{self.act:22}{self.drawn:8}{sides}{saved:+8.0f}{ratio:7.2f}"


def _told(times: Times) -> str:
    low, _, high = statistics.quantiles(times.each, n=4, method="inclusive")
    return f"{times.p50:.0f} ({low:.0f}–{high:.0f}), n {len(times.each)}"


def measure(chromium: Browser, part: str, urls: dict[str, str]) -> Iterator[Row]:
    """Page changes and first loads, ours and the library's in turns."""
    prompt = urlencode({"prompt": next(ui.prompts(N_TOKENS)).strip()})
    took: dict[tuple[str, str], dict[str, list[float]]] = {}

    def note(act: str, side: str, window: Window, since: float) -> None:
        for drawn in ("part", "picture", "whole"):
            if (seen := window.last(drawn)) > since:
                took.setdefault((act, drawn), {each: [] for each in SIDES})[side].append(seen - since)

    windows = {side: opened(chromium, f"{url}/?{prompt}") for side, url in urls.items()}
    for turn in range(ROUNDS + 1):
        for slug in [each for page in PAGES[part] for each in (page, FIRST)]:
            for side, window in windows.items():
                clicked = change(window, slug, theirs=part == "nav_bar" and side == "library")
                if turn:  # the first one computes what the page shows
                    note(f"change to {slug}", side, window, clicked)
    for window in windows.values():
        window.close()
    page = PAGES[part][0] if part in PICTURES else FIRST
    for _ in range(LOADS):
        for side, url in urls.items():
            window = opened(chromium, f"{url}/?{prompt}&page={page}")
            note(f"first load: {page}", side, window, 0)
            window.close()
    for (act, drawn), sides in took.items():
        if min(map(len, sides.values())) >= min(ROUNDS, LOADS):
            yield Row(part, act, drawn, *(Times(sides[side]) for side in SIDES))


def in_files(chromium: Browser, folder: Path) -> Iterator[Row]:
    """The page *Why* as a file with our bars, and its figure as Plotly's file, opened in turns."""
    shown, chosen = Comparison(runs.run("mini", next(ui.prompts(N_TOKENS)), True)), selection_of(model="mini")
    assert WHY.plots
    made = {"ours": WHY.page(shown, chosen), "library": files.as_html(WHY.plots(shown, chosen), dark=False)}
    times: dict[str, list[float]] = {side: [] for side in SIDES}
    for side, contents in made.items():
        (folder / side).with_suffix(".html").write_bytes(contents)
        print(f"signed_bars: {side}, {len(contents) / 1e6:.1f} MB")
    for _ in range(LOADS):
        for side in SIDES:
            window = opened(chromium, (folder / side).with_suffix(".html").as_uri())
            times[side].append(window.last("whole"))
            window.close()
    yield Row("signed_bars", "file opened", "whole", *(Times(times[side]) for side in SIDES))


def opened(chromium: Browser, url: str) -> Window:
    """A new window with the page drawn."""
    window = Window(chromium)
    window.open(url)
    window.drawn("whole", 0)
    return window


def change(window: Window, slug: str, theirs: bool) -> float:
    """Go to another page, by our navigation or theirs, and wait until it is drawn; when that was asked for."""
    view = next(view for view in VIEWS if view.slug == slug)
    window.to_front()
    if view.group:
        window.click("nav button", view.group)
    window.click("[data-testid=stTopNavLink]" if theirs else "nav a", view.title)
    clicked = window.last("click")
    window.drawn("whole", clicked)
    return clicked


def main(parts: list[str]) -> None:
    """Measure the parts named, or all, and report."""
    rows: list[Row] = []
    with browser() as chromium:
        print(f"{machine()}, Chromium {chromium.version}; milliseconds: median (quartiles), number of times")
        print(f"{'part':12}{'act':22}{'drawn':8}{'ours':>24}{'library':>24}{'saved':>8}{'ratio':>7}")
        for part in parts or [*PARTS, "signed_bars"]:
            for row in served(chromium, part):
                rows.append(row)
                print(row, flush=True)
        version = chromium.version
    if not parts:
        report = {"machine": machine(), "chromium": version, "rows": [asdict(row) for row in rows]}
        REPORT.write_text(json.dumps(report, indent=1) + "\n")


def served(chromium: Browser, part: str) -> Iterator[Row]:
    """What is measured while both are served; of the bars of files without a server."""
    with ExitStack() as stack:
        if part == "signed_bars":
            yield from in_files(chromium, Path(stack.enter_context(tempfile.TemporaryDirectory())))
            return
        urls = {side: stack.enter_context(swapped(part, side)) for side in SIDES}
        yield from measure(chromium, part, urls)


@contextmanager
def swapped(part: str, side: str) -> Iterator[str]:
    """The address of Headlight with our part, or with the library's in its place."""
    with (
        tempfile.TemporaryDirectory() as made,
        patch.dict("os.environ", BENCH_PART=part, BENCH_SIDE=side),
        headlight(Path(made), "--model", "mini", command=SWAPPED) as url,
    ):
        yield url


if __name__ == "__main__":
    main(sys.argv[1:])
