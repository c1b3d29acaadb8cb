"""How long the page takes to answer, in Chromium on loopback: `make bench ARGS="ui [FOLDER of a GPT-2 tokenizer]"`.

Times are marks on the page's own clock (watch.js): from the browser's time of the user's input to the frame that shows
the whole answer. The model's time is left out: another session has just run each prompt, on a page that needs nothing
but the run, so that the server finds the run and computes the rest.

Pages are changed one after the other on one prompt, each until all of its pictures that are in sight are drawn, those
on our own canvases and Plotly's apart; the first round computes what each page shows and does not count. A page that
wants a second prompt or the press of a button before it draws is measured to its saying so.

Beside each figure stands its floor: the same act on a page of one trivial component (floor.py), in turns with
Headlight's own, so that what else the machine does meets both.

Prints a table and writes it to assets/benchmarks/ui.json.
"""

import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count, cycle, islice
from pathlib import Path

from headlight.app.frame.view import PROMPTED, View
from headlight.app.registry import VIEWS
from headlight.model import load
from tests.bench import ui_table
from tests.bench.sessions import MANY_HEADS, random_model
from tests.bench.ui_table import Figure, Goal, Times
from tests.bench.window import HEIGHT, WIDTH, Browser, Window, browser
from tests.serving import headlight, served
from tests.sessions.client import Client

FLOOR = Path(__file__).parent / "floor.py"
TALL = 1600  # CSS pixels, where the fourth head, under the first ones, has to be in sight to be drawn
SCROLLED = 20  # CSS pixels from frame to frame
PAUSE = 0.06  # seconds for a crosshair to be drawn
BY_PLOTLY = ("mlp", "graph", "corpus")  # the pages whose main picture is a chart
LONG = 256  # tokens; longer prompts have goals of their own


@dataclass(frozen=True)
class Subject:
    """A model that is served at an address, its grid and its pages; or the floor."""

    name: str
    url: str
    grid: tuple[int, int]
    views: tuple[View, ...] = tuple(view for view in VIEWS if view.kind is PROMPTED)


def floor_at(url: str) -> Subject:
    """The floor's page as if it were of a model: places on its board for heads, and its two pages."""
    views = (View(title.lower(), title, lambda comparison: None) for title in ("First", "Second"))
    return Subject("", url, (4, 4), tuple(views))


def prompts(n_tokens: int) -> Iterator[str]:
    """Prompts of so many tokens of which no two are alike, with the beginning-of-sequence token."""
    words = ["red", "cat", "river", "one", "Monday"]
    for number in count():
        digits = [words[number // len(words) ** place % len(words)] for place in range(4)]
        yield "".join(f" {word}" for word in (digits * n_tokens)[: n_tokens - 1])


Timed = tuple[str, float]  # what was timed, if an act has several parts or pages, and the milliseconds it took
Act = Callable[[Window, Subject], Iterator[Timed]]  # again and again
Sides = list[list[Timed]]  # of Headlight's page and of the floor's


def in_turns(act: Act, pair: list[tuple[Window, Subject]], times: int, first: int = 0) -> Sides:
    """What an act takes on Headlight's page and on the floor's, one after the other, without the first few times."""
    ours, floor = (act(window, subject) for window, subject in pair)
    pairs = list(islice(zip(ours, floor, strict=False), first, first + times))
    return [list(side) for side in zip(*pairs, strict=True)]


def measure(browser: Browser, subject: Subject, floor: Subject, n_tokens: int) -> Iterator[Figure]:
    """All figures for one model and length of prompt."""
    long = n_tokens > LONG
    times = 8 if long else 16
    pair = [(opened(browser, each), each) for each in (subject, floor)]
    figure = partial(figure_of, subject.name, n_tokens)

    submitted = in_turns(partial(submit, prompts=prompts(n_tokens)), pair, times)
    yield figure("prompt submitted → grid drawn", Goal(250, 450) if long else Goal(150, 250), submitted)
    clicked = in_turns(click_heads, pair, 2 * times)
    yield figure("click on a head → its ring", Goal(16, 33), only("ring", clicked))
    goal = Goal(140, 220) if long else Goal(110, 180)
    yield figure("click on a head → its large heatmap", goal, only("heads", clicked))
    (window, _), _ = pair
    sent = window.ask("watched.sent")
    yield figure("pointer on a cell → crosshair and numbers", Goal(1000 / 60, 1000 / 30), in_turns(hover, pair, 40))
    sent = window.ask("watched.sent") - sent
    print(f"{subject.name}, {n_tokens} tokens: hovering sent {sent} bytes over the websocket (goal: 0)")
    charts, rounds = list[Timed](), 2 if long else 3
    pages = sum(view.slug not in BY_PLOTLY for view in subject.views)
    changed = in_turns(partial(change_pages, charts=charts), pair, rounds * pages, first=pages)
    yield figure("page change → its pictures in sight", Goal(120, 200), changed)
    yield figure("page change → its charts in sight", Goal(400, 600), [after_first(charts), changed[1]])
    query = str(window.ask("() => location.search"))
    for each, _ in pair:
        each.close()
    loaded = in_turns(lambda _, page: first_load(browser, page, query), pair, 6)
    yield figure("first load → grid drawn", Goal(1200, 2000), loaded)


def measure_many_heads(browser: Browser, folder: Path, floor: Subject) -> Figure:
    """How a grid of 1,024 heads and tokens scrolls."""
    n_tokens, grid = 1024, (MANY_HEADS.n_layers, MANY_HEADS.n_heads)
    with headlight(folder, "--model", str(random_model(folder / "many-heads", MANY_HEADS))) as url:
        prompt = next(prompts(n_tokens))
        pair = [(opened(browser, each), each) for each in (Subject("32 x 32 heads", url, grid), floor)]
        next(submit(pair[0][0], pair[0][1], iter([prompt])))
        scrolled = in_turns(scroll, pair, 120)
    return figure_of("32 x 32 heads", n_tokens, "scrolling → next frame", Goal(1000 / 60, 1000 / 30), scrolled)


def opened(browser: Browser, subject: Subject, query: str = "?prompt=one+two+one+two") -> Window:
    """A new window with its grid drawn; a link to a result is no first visit, over which a card would stand."""
    window = Window(browser)
    window.open(f"{subject.url}/{query}")
    window.drawn("grid", 0)
    return window


def answer(window: Window, act: Callable[[], None], drawn: str) -> float:
    """Milliseconds from the click that the act ends with to the last frame that draws the answer."""
    window.to_front()
    act()
    clicked = window.last("click")
    return window.drawn(drawn, clicked) - clicked


def only(name: str, sides: Sides) -> Sides:
    """One of several things that were timed at each act."""
    return [[("", took) for timed, took in side if timed == name] for side in sides]


def after_first(times: list[Timed]) -> list[Timed]:
    """All but the first of each thing that was timed."""
    names = [name for name, _ in times]
    return [timed for at, timed in enumerate(times) if timed[0] in names[:at]]


def figure_of(model: str, n_tokens: int, what: str, goal: Goal, sides: Sides) -> Figure:
    """The figure of what was timed in turns."""
    pages: dict[str, list[float]] = {}
    for page, took in sides[0]:
        pages.setdefault(page, []).append(took)
    ours, floor = (Times([took for _, took in side]) for side in sides)
    by_page = {page: statistics.median(times) for page, times in pages.items() if page}
    return Figure(model, n_tokens, what, goal, ours, floor, by_page)


def submit(window: Window, subject: Subject, prompts: Iterator[str]) -> Iterator[Timed]:
    """A prompt that another session has just run, on the page that asks least of it."""
    for prompt in prompts:
        if subject.name:
            with Client(subject.url) as other:
                other.go_to("residual")
                other.submit(prompt)
        window.fill("textarea", prompt)
        yield "", answer(window, lambda: window.click(".st-key-headlight-bar button", "Run"), "grid")


def click_heads(window: Window, subject: Subject) -> Iterator[Timed]:
    """Each time another head beside those that the page begins with, and away with it again."""
    window.resize(WIDTH, TALL)
    window.ask("watched.still")
    layers, heads = subject.grid
    chosen = set(window.ask("watched.texts", "figure.panel figcaption strong"))
    others = [divmod(index, heads) for index in range(layers * heads)]
    for layer, head in cycle([each for each in others if "L{}H{}".format(*each) not in chosen]):
        across, down = (head + 0.5) / heads, (layer + 0.5) / layers
        click = partial(window.click, ".board canvas", across=across, down=down)
        seen_large = answer(window, click, "heads")
        yield "ring", window.last("ring") - window.last("click")
        yield "heads", seen_large
        click()
        time.sleep(PAUSE)  # the script has begun
        window.ask("watched.still")


def hover(window: Window, subject: Subject) -> Iterator[Timed]:
    """Over cell after cell along the first heatmap's diagonal."""
    left, top, width, height = window.ask("watched.box", ".panel canvas")
    for step in cycle(range(40)):
        window.to_front()
        share = 0.4 + 0.01 * step
        before = window.last("crosshair")
        window.move(left + width * share, top + height * (share + 0.02) * 0.8)
        time.sleep(PAUSE)
        if (seen := window.last("crosshair")) > before:
            yield "", seen - window.last("hover")


def scroll(window: Window, subject: Subject) -> Iterator[Timed]:
    """The page down and up again; from frame to frame."""
    for pixels in cycle((SCROLLED, -SCROLLED)):
        window.to_front()
        for took in window.ask("watched.scroll", "[data-testid=stMain]", pixels):
            yield "", took


def change_pages(window: Window, subject: Subject, charts: list[Timed]) -> Iterator[Timed]:
    """From page to page by the navigation; what Plotly draws is noted apart."""
    window.resize(WIDTH, HEIGHT)
    window.ask("watched.still")
    for view in cycle((*subject.views[1:], subject.views[0])):
        if view.group:
            window.click(f"nav button[data-group={json.dumps(view.group)}]")
        link = "nav a" if subject.name else "[data-testid=stTopNavLink]"  # the floor's navigation is Streamlit's
        window.to_front()
        window.click(link, view.title)
        clicked = window.last("click")
        took = {mark: at - clicked for mark, at in window.ask("watched.answered", clicked).items() if at > clicked}
        if "chart" in took and subject.name:
            charts.append((view.slug, took["chart"]))
        if "picture" in took and view.slug not in BY_PLOTLY:
            yield view.slug, took["picture"]


def first_load(browser: Browser, subject: Subject, query: str) -> Iterator[Timed]:
    """In a new window each time."""
    while True:
        window = opened(browser, subject, query)
        yield "", window.last("grid")
        window.close()


def use_tokenizer(model: Path, tokenizer: Path) -> None:
    """Put another tokenizer's files in place of those in a model's folder."""
    for file in model.glob("tokenizer*.json"):
        file.unlink()
    for file in tokenizer.glob("*.*"):
        shutil.copy(file, model)


def main(arguments: list[str]) -> None:
    """Measure the embedded model and one of GPT-2-small's shape, and report."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as made, browser() as chromium, served(str(FLOOR), Path(made)) as floor:
        ui_table.begin(chromium.version)
        shaped = random_model(Path(made) / "gpt2-shaped")
        if arguments:
            use_tokenizer(shaped, Path(arguments[0]))
        for model, name, lengths in (("mini", "mini", (32, 255)), (str(shaped), "GPT-2's shape", (32, 255, 1023))):
            cfg = load(model).cfg
            with headlight(Path(made), "--model", model) as url:
                for n_tokens in lengths:
                    subject = Subject(name, url, (cfg.n_layers, cfg.n_heads))
                    for figure in measure(chromium, subject, floor_at(floor), n_tokens):
                        figures.append(figure)
                        ui_table.show(figure)
        figures.append(measure_many_heads(chromium, Path(made), floor_at(floor)))
        ui_table.show(figures[-1])
        ui_table.write(figures, chromium.version)


if __name__ == "__main__":
    main(sys.argv[1:])
