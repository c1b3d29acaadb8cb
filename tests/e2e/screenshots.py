"""Takes the pictures that README.md and the manual show: `python -m tests.e2e.screenshots` (`make screenshots`).

Pictures that neither shows are not committed; `--all FOLDER` takes every page.
"""

import re
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from playwright.sync_api import Browser, expect

from headlight.app.frame.view import View
from headlight.app.registry import VIEWS
from headlight.app.runs import prompts
from tests.e2e.driver import HEIGHT, Driver, Theme
from tests.e2e.sets_walk import sets_walk, with_real_models
from tests.e2e.walk import walk
from tests.places import REAL, ROOT, shown_pictures
from tests.serving import chromium, headlight

COMPARED = {
    "prompt": "When Mary and John went to the shop, John gave a drink to",
    "prompt_b": "When Mary and John went to the shop, Mary gave a drink to",
}
# What there is to compare on a page that does not look at prompts: other edits, weights, or sources.
COMPARED_BY_SLUG = {
    "heads": {"prompt": COMPARED["prompt"], "edits": "ablate:0.0,0.1:zero:"},
    "weights": {
        "model": "teach-induction",
        "prompt": "The quick fox found a key. The quick",
        "model_b": "teach-copy",
        "prompt_b": "The quick fox found a key. The quick",
        "heads": "1.0",
    },
    "translate": {
        "translator": "translate",
        "source": "Heute sieht der alte Mann den kleinen Hund.",
        "source_b": "Heute sieht der kleine Hund den alten Mann.",
    },
}
LISTED = """\
When Tom and Anna went to the park, Anna gave a ball to
Monday Tuesday Wednesday Monday Tuesday
one two three four one two three
The author near the windows
red blue green red blue green red
"""
TALL = 1500
PHONE = 390
WALK_HEIGHT = 2300  # all of the page *Why*
TAKE_IT = "Export: code, data, image, web page"
WALK: list[tuple[str | re.Pattern[str], str]] = [
    ("Why this token?", "What it writes"),
    (re.compile("Where L.* looks, and why"), "Over layers and heads"),
    (re.compile("Where L.* looks, and why"), "Over layers and heads"),
    ("Head roles", TAKE_IT),
    ("All heads", TAKE_IT),
]
FOLDER = ROOT / "assets" / "screenshots"


def main() -> None:
    """Take the pictures that README.md and the manual show, or all that there are."""
    parser = ArgumentParser("screenshots", description=main.__doc__)
    parser.add_argument(
        "slugs", nargs="*", help="pages; `walk` is the tutorial's, `sets` that over a set (default: all)"
    )
    parser.add_argument(
        "--all", type=Path, metavar="FOLDER", help="every page, also A | B and on a phone, into a folder"
    )
    arguments = parser.parse_args()
    folder: Path = arguments.all or FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    names = shown_pictures()
    with tempfile.TemporaryDirectory() as log, headlight(Path(log)) as url, chromium() as browser:
        for picture in filter(lambda each: not arguments.slugs or each.view.slug in arguments.slugs, pictures()):
            if arguments.all or picture.name in names:
                _take(browser, url, picture, folder)
        if (not arguments.slugs or "walk" in arguments.slugs) and (arguments.all or "walk-1" in names):
            _take_walk(browser, url, folder)
    if "sets" in arguments.slugs or (not arguments.slugs and "sets-heads" in names and (REAL / "installed").exists()):
        with tempfile.TemporaryDirectory() as log, with_real_models(Path(log)) as url, chromium() as browser:
            _take_sets_walk(browser, url, folder)


@dataclass(frozen=True)
class Picture:
    """One page as it is opened for a picture: the theme and size of the window, and the address's query."""

    name: str
    view: View
    theme: Theme = "light"
    width: int = 1280
    height: int = HEIGHT
    query: Mapping[str, str] = field(default_factory=dict)


def pictures() -> Iterator[Picture]:
    """Every page, alone and comparing, in each theme and on a phone."""
    for view in VIEWS:
        both = compared(view)
        for theme in get_args(Theme):
            yield Picture(f"{view.slug}-{theme}", view, theme)
            yield Picture(f"compare-{view.slug}-{theme}", view, theme, height=TALL, query=both)
        yield Picture(f"phone-{view.slug}", view, width=PHONE)
        yield Picture(f"phone-compare-{view.slug}", view, width=PHONE, height=TALL, query=both)


def compared(view: View) -> dict[str, str]:
    """The address's query for an A and a B on a page."""
    return COMPARED_BY_SLUG.get(view.slug, COMPARED)


def _take_walk(browser: Browser, url: str, folder: Path) -> None:
    """What there is at each stop of the walk, from one heading to the next."""
    driver = Driver(browser, url)
    driver.page.set_viewport_size({"width": 1280, "height": WALK_HEIGHT})
    for number, (_, (first, last)) in enumerate(zip(walk(driver), WALK, strict=True), start=1):
        top, bottom = (driver.page.get_by_text(text, exact=True).last.bounding_box() for text in (first, last))
        assert top
        assert bottom
        clip = {"x": 0, "y": top["y"] - 12, "width": 1280, "height": bottom["y"] - top["y"]}
        driver.page.screenshot(path=folder / f"walk-{number}.png", clip=clip)  # type: ignore[arg-type]
    driver.close()


def _take_sets_walk(browser: Browser, url: str, folder: Path) -> None:
    """What the walk over a set comes to."""
    driver = Driver(browser, url)
    driver.page.set_viewport_size({"width": 1280, "height": WALK_HEIGHT})
    for stop in sets_walk(driver):
        driver.page.mouse.move(0, 0)
        top, bottom = stop.first.last.bounding_box(), stop.last.last.bounding_box()
        assert top
        assert bottom
        clip = {"x": 0, "y": top["y"] - 4, "width": 1280, "height": bottom["y"] - top["y"] - 8 + stop.room}
        driver.page.screenshot(path=folder / f"sets-{stop.name}.png", clip=clip)  # type: ignore[arg-type]
        print(f"{stop.name}: {stop.text}")
    driver.close()


def _take(browser: Browser, url: str, picture: Picture, folder: Path) -> None:
    view = picture.view
    own = [each for each in prompts.examples() if each.view == view.slug and each.model == "mini"]
    examples = own or prompts.examples()
    driver = Driver(browser, url, picture.theme, picture.width)
    driver.page.set_viewport_size({"width": picture.width, "height": picture.height})
    driver.open(view, **{"prompt": examples[0].prompt, **picture.query})
    if view.slug == "prompts":
        _run_list(driver)
    driver.page.screenshot(path=folder / f"{picture.name}.png")
    driver.close()


def _run_list(driver: Driver) -> None:
    listed = {"name": "prompts.txt", "mimeType": "text/plain", "buffer": LISTED.encode()}
    driver.upload(listed)
    expect(driver.page.get_by_text("new prompts")).to_be_visible()
    driver.settle()
    run = driver.page.get_by_role("button", name=re.compile(r"^Run \d"))
    if run.count():  # another session may have run them all
        run.click()
    expect(driver.page.get_by_text(re.compile(r"(\d+) of \1 run"))).to_be_visible()
    driver.page.get_by_role("application", name=re.compile("layer by head")).nth(1).wait_for()
    driver.settle()


if __name__ == "__main__":
    main()
