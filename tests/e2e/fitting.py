"""Whether a page fits its window: nothing is wider, and nothing lies over something else."""

from tests.e2e.driver import DRAWN, Driver

WIDTHS = (1280, 900, 680, 390)
# Elements of the page's body that lie over each other without being inside each other.
OVERLAPS = """() => {
    const parts = [...document.querySelectorAll('[data-testid="stMain"] [data-testid="stElementContainer"]')];
    const placed = parts.map(part => [part, part.getBoundingClientRect()]);
    const shown = placed.filter(([, box]) => box.width > 1 && box.height > 1);
    const besides = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1;
    const above = (a, b) => a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
    return shown.flatMap(([one, a]) => shown
        .filter(([other]) => one !== other && !one.contains(other) && !other.contains(one))
        .filter(([, b]) => !besides(a, b) && !above(a, b))
        .map(([other]) => `${one.className} over ${other.className}`));
}"""
# By how many pixels the page and its body are wider than their windows.
EXCESS = """() => [document.scrollingElement, document.querySelector('[data-testid="stMain"]')]
    .map(element => element.scrollWidth - element.clientWidth)"""


def check_fits(app: Driver) -> None:
    """A page that has something drawn, in the window as it is."""
    assert app.page.evaluate(EXCESS) == [0, 0]
    assert app.page.evaluate(OVERLAPS) == []
    assert app.page.locator(DRAWN).count() > 0
