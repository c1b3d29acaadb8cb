"""Takes the README's pictures, alone and with A | B: `python -m tests.e2e.screenshots`, with slugs only theirs.

`walk` stands for the pictures of the README's walk, one after each click.
"""

import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from playwright.sync_api import Browser, expect

from headlight.app.frame.view import View
from headlight.app.registry import VIEWS
from headlight.app.runs import prompts
from tests.e2e.driver import HEIGHT, Driver, Theme
from tests.e2e.walk import walk
from tests.places import ROOT
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
TAKE_IT = "Take it with you: code, data, picture, page"
WALK = [
    ("Direct logit attribution", TAKE_IT),
    ("Why it looks there", "Direct logit attribution"),
    ("Why it looks there", "Direct logit attribution"),
    ("Head roles", TAKE_IT),
    ("All heads", TAKE_IT),
]
FOLDER = ROOT / "assets" / "screenshots"


def main(slugs: Sequence[str]) -> None:
    """Write a picture of each of these pages, or of all, alone and comparing, in each theme and on a phone."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, headlight(Path(folder)) as url, chromium() as browser:
        for view in (view for view in VIEWS if not slugs or view.slug in slugs):
            for theme in get_args(Theme):
                _take(browser, url, view, f"{view.slug}-{theme}", theme)
                _take(browser, url, view, f"compare-{view.slug}-{theme}", theme, height=TALL, **compared(view))
            _take(browser, url, view, f"phone-{view.slug}", "light", PHONE)
            _take(browser, url, view, f"phone-compare-{view.slug}", "light", PHONE, TALL, **compared(view))
        if not slugs or "walk" in slugs:
            _take_walk(browser, url)


def compared(view: View) -> dict[str, str]:
    """The address's query for an A and a B on a page."""
    return COMPARED_BY_SLUG.get(view.slug, COMPARED)


def _take_walk(browser: Browser, url: str) -> None:
    """What each click of the walk leads to, from one heading to the next."""
    driver = Driver(browser, url)
    driver.page.set_viewport_size({"width": 1280, "height": WALK_HEIGHT})
    for number, (_, (first, last)) in enumerate(zip(walk(driver), WALK, strict=True), start=1):
        top, bottom = (driver.page.get_by_text(text, exact=True).last.bounding_box() for text in (first, last))
        assert top
        assert bottom
        clip = {"x": 0, "y": top["y"] - 12, "width": 1280, "height": bottom["y"] - top["y"]}
        driver.page.screenshot(path=FOLDER / f"walk-{number}.png", clip=clip)  # type: ignore[arg-type]
    driver.close()


def _take(
    browser: Browser,
    url: str,
    view: View,
    name: str,
    theme: Theme,
    width: int = 1280,
    height: int = HEIGHT,
    **query: str,
) -> None:
    own = [each for each in prompts.examples() if each.view == view.slug and each.model == "mini"]
    examples = own or prompts.examples()
    driver = Driver(browser, url, theme, width)
    driver.page.set_viewport_size({"width": width, "height": height})
    driver.open(view, **{"prompt": examples[0].prompt} | query)
    if view.slug == "prompts":
        _run_list(driver)
    driver.page.screenshot(path=FOLDER / f"{name}.png")
    driver.close()


def _run_list(driver: Driver) -> None:
    listed = {"name": "prompts.txt", "mimeType": "text/plain", "buffer": LISTED.encode()}
    driver.upload(listed)
    expect(driver.page.get_by_text("new prompts")).to_be_visible()
    driver.settle()
    run = driver.page.get_by_role("button", name=re.compile(r"^Run \d"))
    if run.count():  # another session may have run them all
        run.click()
    expect(driver.page.get_by_text(re.compile(r"(\d+) in the list, \1 run"))).to_be_visible()
    driver.page.get_by_role("application", name=re.compile("layer by head")).nth(1).wait_for()
    driver.settle()


if __name__ == "__main__":
    main(sys.argv[1:])
