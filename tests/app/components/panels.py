"""The heads on a page: where their cells are, what colours they have, and what is told at them."""

from collections.abc import Callable

import numpy as np
from playwright.sync_api import Locator, Page

from tests.app.components.compared import N_PLACES

Open = Callable[[str], Page]


def pitch_of(page: Page, panel: int, n_places: int) -> tuple[float, float]:
    """How far a panel's matrix is from the left of its plot, and its cells from one another."""
    figure = page.locator(".panel").nth(panel)
    figure.scroll_into_view_if_needed()
    title, plot = figure.locator("figcaption").bounding_box(), figure.locator(".plot").bounding_box()
    assert title
    assert plot
    return title["x"] - plot["x"], title["width"] / n_places  # the title is as wide as the matrix


def middle(left: float, pitch: float, query: int, key: int) -> tuple[float, float]:
    return left + (key + 0.5) * pitch, 6 + (query + 0.5) * pitch  # the matrix begins 6 pixels down


def centre(page: Page, panel: int, query: int, key: int, n_places: int = N_PLACES) -> tuple[float, float]:
    """Where a cell's middle lies in a panel's plot."""
    return middle(*pitch_of(page, panel, n_places), query, key)


def plot(page: Page, panel: int) -> Locator:
    return page.locator(".panel .plot").nth(panel)


def point_at(page: Page, panel: int, query: int, key: int, n_places: int = N_PLACES) -> dict[str, str]:
    """The tooltip's rows with the pointer on a cell."""
    x, y = centre(page, panel, query, key, n_places)
    plot(page, panel).hover(position={"x": x, "y": y})
    return tooltip(page)


def click_at(page: Page, panel: int, query: int, key: int, n_places: int = N_PLACES) -> None:
    x, y = centre(page, panel, query, key, n_places)
    plot(page, panel).click(position={"x": x, "y": y})


def tooltip(page: Page) -> dict[str, str]:
    """The visible tooltip's title (under "title") and its rows."""
    script = """(box) => {
      const rows = Array.from(box.querySelectorAll("dt"), (name) => [name.textContent, name.nextSibling.textContent]);
      return { title: box.querySelector("strong").textContent, ...Object.fromEntries(rows) };
    }"""
    return page.locator(".tooltip:popover-open").evaluate(script)


def pixels(page: Page, panel: int, n_places: int = N_PLACES) -> np.ndarray:
    """The colour in the middle of every cell [query, key, rgb]."""
    left, pitch = pitch_of(page, panel, n_places)
    points = [middle(left, pitch, query, key) for query in range(n_places) for key in range(n_places)]
    script = """(canvas, points) => {
      const ratio = canvas.width / canvas.clientWidth;
      const context = canvas.getContext("2d");
      return points.map(([x, y]) => Array.from(context.getImageData(x * ratio, y * ratio, 1, 1).data.slice(0, 3)));
    }"""
    colours = plot(page, panel).locator("canvas").first.evaluate(script, points)
    return np.array(colours).reshape(n_places, n_places, 3)


def number(text: str) -> float:
    return float(text.replace("−", "-").replace("+", ""))
