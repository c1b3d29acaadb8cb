"""A page's picture as it is shared: the finding over it, the prompt's model and the name Headlight under it."""

import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from headlight.app.exports.drawings import Drawing, Drawings
from headlight.app.exports.facts import inputs
from headlight.app.exports.pictures import DRAWERS, picture
from headlight.app.exports.style import DPI, Palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ICON = Path(__file__).parents[3] / "assets" / "icon.png"
WIDTH, HEIGHT, MARGIN = 16.0, 9.0, 0.48  # inches: 1600 x 900 pixels, twice as many on a fine screen
TITLE, FOOT = 0.9, 0.5  # inches
TALLEST = 0.5  # of its width, what is shown of the page's picture
LARGEST = 2.4  # times its size
LETTERS = 92  # of the title in one line


def slide(drawings: Drawings, palette: Palette) -> "Figure":
    """The first drawings of a page, as large as they fit, under its finding."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, HEIGHT), dpi=DPI)
    title = drawings.finding or drawings.title.rstrip(",")
    large = len(title) <= LETTERS
    left, top = MARGIN / WIDTH, 1 - MARGIN / HEIGHT
    figure.text(left, top, title, fontsize=22 if large else 15, fontweight="bold", va="top", wrap=True)
    _place(figure, replace(drawings, title="", finding="", note="", runs=None, rows=_first(drawings)), palette)
    models = () if drawings.runs is None else dict.fromkeys(each.source.short_name for each in inputs(drawings.runs))
    figure.text(left, MARGIN / HEIGHT, " and ".join(models), fontsize=12, color=palette.faded, va="bottom")
    figure.text(1 - left, MARGIN / HEIGHT, "Headlight", fontsize=14, fontweight="bold", ha="right", va="bottom")
    return figure


def _first(drawings: Drawings) -> list[list[Drawing]]:
    """The rows from the top that are not too high together, as many as there are on paper, and at least one."""
    rows, wide, high = list[list[Drawing]](), 0.0, 0.0
    for row in drawings.rows:
        sizes = [DRAWERS[type(one)].size(one) for each in row for one in each.for_paper if type(one) in DRAWERS]
        if not sizes:
            continue
        wide, high = max(wide, sum(across for across, _ in sizes)), high + max(down for _, down in sizes)
        if rows and high > TALLEST * wide:
            break
        rows.append(list(row))
    return rows


def _place(figure: "Figure", drawings: Drawings, palette: Palette) -> None:
    """The picture in the room between title and foot, drawn at the size that it has there."""
    from matplotlib.image import imread

    drawn = picture(drawings, palette, lettered=False)
    wide, high = drawn.get_size_inches()
    across, down = WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN - TITLE - FOOT
    scale = min(across / wide, down / high, LARGEST)
    pixels = io.BytesIO()
    drawn.savefig(pixels, format="png", dpi=DPI * scale)
    pixels.seek(0)
    image = imread(pixels)
    bottom = MARGIN + FOOT + max(0.0, down - high * scale) / 2
    figure.figimage(image, round(MARGIN * DPI), round(bottom * DPI))
