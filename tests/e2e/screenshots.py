"""Takes the README's pictures, every page in both themes: `python -m tests.e2e.screenshots`."""

import tempfile
from pathlib import Path
from typing import get_args

from app import prompts
from app.registry import VIEWS, View
from tests.e2e.driver import Driver, Theme
from tests.serving import ROOT, chromium, headlight

COMPARED = {
    "prompt": "When Mary and John went to the shop, John gave a drink to",
    "prompt_b": "When Mary and John went to the shop, Mary gave a drink to",
}
TALL = 1500
FOLDER = ROOT / "assets" / "screenshots"


def main() -> None:
    """Write a picture of each page, with the first example that belongs on it, one of A | B, and one on a phone."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, headlight(Path(folder)) as url, chromium() as browser:
        for theme in get_args(Theme):
            for view in VIEWS:
                _take(Driver(browser, url, theme), view, f"{view.slug}-{theme}")
            compared = Driver(browser, url, theme)
            compared.page.set_viewport_size({"width": 1280, "height": TALL})
            _take(compared, VIEWS[0], f"compare-{theme}", **COMPARED)
        _take(Driver(browser, url, "light", width=390), VIEWS[0], "phone")


def _take(driver: Driver, view: View, name: str, **query: str) -> None:
    examples = [example for example in prompts.examples() if example.view == view.slug] or prompts.examples()
    driver.open(view, **{"prompt": examples[0].prompt} | query)
    driver.page.screenshot(path=FOLDER / f"{name}.png")
    driver.close()


if __name__ == "__main__":
    main()
