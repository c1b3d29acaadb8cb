"""Takes the README's pictures, every page in both themes: `python -m tests.e2e.screenshots`."""

import tempfile
from pathlib import Path
from typing import get_args

from app import prompts
from app.registry import VIEWS, View
from tests.e2e.driver import Driver, Theme
from tests.serving import ROOT, chromium, served

FOLDER = ROOT / "assets" / "screenshots"


def main() -> None:
    """Write a picture of each page, with the first example that belongs on it, and one of the first on a phone."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, served("app/main.py", Path(folder)) as url, chromium() as browser:
        for theme in get_args(Theme):
            for view in VIEWS:
                _take(Driver(browser, url, theme), view, f"{view.slug}-{theme}")
        _take(Driver(browser, url, "light", width=390), VIEWS[0], "phone")


def _take(driver: Driver, view: View, name: str) -> None:
    example = next(example for example in prompts.examples() if example.view == view.slug)
    driver.open(view, prompt=example.prompt)
    driver.page.screenshot(path=FOLDER / f"{name}.png")
    driver.close()


if __name__ == "__main__":
    main()
