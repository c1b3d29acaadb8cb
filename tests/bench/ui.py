"""How long the page takes to answer, in Chromium on loopback: `python -m tests.bench.ui [folder of a GPT-2 tokenizer]`.

Times are marks on the page's own clock (watch.js): from the browser's time of the user's input to the frame that shows
the whole answer. The model's time is left out: another session has just run each prompt, on a page that needs nothing
but the run, so that the server finds the run and computes the rest. Pages are changed back and forth on one prompt.

Prints a table and writes it to assets/benchmarks/ui.json.
"""

import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count, islice
from pathlib import Path

from playwright.sync_api import Browser, WebSocket

from app.registry import VIEWS
from model import load
from tests.bench.machine import machine
from tests.bench.sessions import random_model
from tests.e2e.driver import Driver
from tests.serving import ROOT, chromium, headlight
from tests.sessions.client import Client

WATCH = Path(__file__).parent / "watch.js"
REPORT = ROOT / "assets" / "benchmarks" / "ui.json"
STILL = 200  # milliseconds after the script's end in which nothing more is drawn
# What is drawn last of a page's first picture.
FIRST_PICTURE = {
    "attention": "grid",
    "head": "steps",
    "residual": "charts",
    "lens": "lens",
    "generate": "heads",
    "translate": "grid",
    "prompts": "tables",
}


@dataclass(frozen=True)
class Goal:
    """Milliseconds: half of the answers, and 95 of 100, have to come within these."""

    p50: float
    p95: float


@dataclass(frozen=True)
class Figure:
    """One line of the table; times in milliseconds."""

    model: str
    n_tokens: int
    what: str
    goal: Goal
    times: list[float]

    @property
    def p50(self) -> float:
        return statistics.median(self.times)

    @property
    def p95(self) -> float:
        return statistics.quantiles(self.times, n=20, method="inclusive")[18]

    @property
    def met(self) -> bool:
        return self.p50 <= self.goal.p50 and self.p95 <= self.goal.p95


class Watched(Driver):
    """A window whose page marks what it draws and when, and that counts what it says to the server."""

    def __init__(self, browser: Browser, url: str) -> None:
        super().__init__(browser, url)
        self.page.add_init_script(path=WATCH)
        self.sent = 0
        self.page.on("websocket", self._count)

    def _count(self, socket: WebSocket) -> None:
        def count(payload: str | bytes) -> None:
            self.sent += len(payload)

        socket.on("framesent", count)

    def last(self, mark: str) -> float:
        """When a mark was set last, in milliseconds since the page began to load; before any, 0."""
        return float(self.page.evaluate("name => performance.getEntriesByName(name).at(-1)?.startTime ?? 0", mark))

    def wait(self, drawn: str, since: float) -> None:
        """Wait for a mark and then until the page is still."""
        newer = "([name, since]) => performance.getEntriesByName(name).some((mark) => mark.startTime > since)"
        self.page.wait_for_function(newer, arg=[drawn, since])
        self.page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
        self.page.wait_for_timeout(STILL)

    def answer(self, act: Callable[[], None], drawn: str, given: str = "click") -> float:
        """Milliseconds from the user's act to the last frame that draws the answer."""
        before = self.last(drawn)
        act()
        self.wait(drawn, before)
        return self.last(drawn) - self.last(given)

    def load(self, query: str) -> float:
        """Milliseconds from the beginning of the page to its grid; the window has seen none of it before."""
        self.page.goto(f"{self.url}/?{query}")
        self.wait("grid", 0)
        return self.last("grid")


@dataclass(frozen=True)
class Subject:
    """A model that is served at an address, its grid, and prompts for it."""

    name: str
    url: str
    grid: tuple[int, int]

    def prompts(self, n_tokens: int) -> Iterator[str]:
        """Prompts of so many tokens of which no two are alike, with the beginning-of-sequence token."""
        words = ["red", "cat", "river", "one", "Monday"]
        for number in count():
            digits = [words[number // len(words) ** place % len(words)] for place in range(4)]
            yield "".join(f" {word}" for word in (digits * n_tokens)[: n_tokens - 1])


def measure(browser: Browser, subject: Subject, n_tokens: int) -> Iterator[Figure]:
    """All figures for one model and length of prompt."""
    long = n_tokens > 256
    window, prompts = Watched(browser, subject.url), subject.prompts(n_tokens)
    window.open()

    def figure(what: str, goal: Goal, times: list[float]) -> Figure:
        return Figure(subject.name, n_tokens, what, goal, times)

    submitted = [submit(window, subject.url, prompt) for prompt in islice(prompts, 8 if long else 20)]
    yield figure("prompt submitted → grid drawn", Goal(250, 450) if long else Goal(150, 250), submitted)
    rings, heatmaps = zip(*click_heads(window, subject.grid, 8 if long else 20), strict=True)
    yield figure("click on a head → its ring", Goal(16, 33), list(rings))
    yield figure("click on a head → its large heatmap", Goal(140, 220) if long else Goal(110, 180), list(heatmaps))
    sent = window.sent
    yield figure("pointer on a cell → crosshair and numbers", Goal(1000 / 60, 1000 / 30), hover(window, 40))
    print(f"{subject.name}, {n_tokens} tokens: hovering sent {window.sent - sent} bytes over the websocket (goal: 0)")
    yield figure("page change → its first picture", Goal(120, 200), change_pages(window, rounds=2 if long else 5))
    query = window.page.url.partition("?")[2]
    window.close()
    loads = [first_load(browser, subject.url, query) for _ in range(8)]
    yield figure("first load → grid drawn", Goal(1200, 2000), loads)


def submit(window: Watched, url: str, prompt: str) -> float:
    """A prompt that another session has just run, on the page that asks least of it."""
    with Client(url) as other:
        other.go_to("residual")
        other.submit(prompt)
    window.prompt.fill(prompt)
    run = window.page.locator(".st-key-headlight-bar").get_by_role("button", name="Run")
    return window.answer(run.click, "grid")


def click_heads(window: Watched, grid: tuple[int, int], times: int) -> Iterator[tuple[float, float]]:
    """Each time another head beside those that the page begins with, and away with it again."""
    chosen = set(window.page.locator("figure.panel figcaption strong").all_inner_texts())
    others = [divmod(index, grid[1]) for index in range(grid[0] * grid[1])]
    for head in [head for head in others if "L{}H{}".format(*head) not in chosen][:times]:
        click = partial(window.click_head, *head, grid)
        seen_large = window.answer(click, "heads")
        yield window.last("ring") - window.last("click"), seen_large
        window.answer(click, "heads")


def hover(window: Watched, times: int) -> list[float]:
    """Over cell after cell along the first heatmap's diagonal."""
    picture = window.panels.first.locator("canvas").first
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    assert box
    found = []
    for step in range(times):
        share = 0.4 + 0.4 * step / times
        before = window.last("crosshair")
        window.page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] * (share + 0.02) * 0.8)
        window.page.wait_for_timeout(60)
        if window.last("crosshair") > before:
            found.append(window.last("crosshair") - window.last("hover"))
    return found


def change_pages(window: Watched, rounds: int) -> list[float]:
    """From page to page by the navigation; the first round computes what each shows and does not count."""
    found = []
    for turn in range(rounds + 1):
        for view in (*VIEWS[1:], VIEWS[0]):
            link = window.link(view)
            took = window.answer(link.click, FIRST_PICTURE[view.slug])
            found += [took] if turn else []
    return found


def first_load(browser: Browser, url: str, query: str) -> float:
    window = Watched(browser, url)
    took = window.load(query)
    window.close()
    return took


def use_tokenizer(model: Path, tokenizer: Path) -> None:
    """Put another tokenizer's files in place of those in a model's folder."""
    for file in model.glob("tokenizer*.json"):
        file.unlink()
    for file in tokenizer.glob("*.*"):
        shutil.copy(file, model)


def report(figures: list[Figure], browser: str) -> None:
    """Print the table and write it down."""
    print(f"\n{machine()}, Chromium {browser}; milliseconds")
    print(f"{'model':16}{'tokens':>7}  {'':44}{'goal':>13}{'p50':>7}{'p95':>7}  met")
    for each in figures:
        goal = f"{each.goal.p50:.0f} / {each.goal.p95:.0f}"
        measured = f"{each.p50:7.0f}{each.p95:7.0f}  {'yes' if each.met else 'NO'}"
        print(f"{each.model:16}{each.n_tokens:7,}  {each.what:44}{goal:>13}{measured}")
    rows = [asdict(each) | {"p50": each.p50, "p95": each.p95, "met": each.met} for each in figures]
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(json.dumps({"machine": machine(), "chromium": browser, "figures": rows}, indent=1) + "\n")


def main(arguments: list[str]) -> None:
    """Measure the embedded model and one of GPT-2-small's shape, and report."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as made, chromium() as browser:
        shaped = random_model(Path(made) / "gpt2-shaped")
        if arguments:
            use_tokenizer(shaped, Path(arguments[0]))
        for model, name, lengths in (("mini", "mini", (32, 256)), (str(shaped), "GPT-2's shape", (32, 256, 1024))):
            cfg = load(model).cfg
            with headlight(Path(made), "--model", model) as url:
                for n_tokens in lengths:
                    figures += measure(browser, Subject(name, url, (cfg.n_layers, cfg.n_heads)), n_tokens)
        report(figures, browser.version)


if __name__ == "__main__":
    main(sys.argv[1:])
