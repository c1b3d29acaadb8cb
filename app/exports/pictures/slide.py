"""A page's picture as it is shared: the finding over it, the prompt's model and the name Headlight under it."""

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from headlight.app.components import HeadSteps
from headlight.app.exports.drawings import Description, Drawing, Drawings, on_paper
from headlight.app.exports.facts import inputs
from headlight.app.exports.pictures import DRAWERS, picture, rows_of, steps
from headlight.app.exports.style import DPI, Palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ICON = Path(__file__).parents[3] / "assets" / "icon.png"
WIDTH, HEIGHT, MARGIN = 16.0, 9.0, 0.48  # inches: 1600 x 900 pixels, twice as many on a fine screen
TITLE, FOOT = 0.9, 0.5  # inches
ACROSS, DOWN = WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN - TITLE - FOOT  # inches that the page's picture has
MAX_COLUMNS = 4  # of a head's steps
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
    for row in map(_in_columns, rows_of(drawings, ACROSS)):
        sizes = [DRAWERS[type(one)].size(one) for one in row]
        wide, high = max(wide, sum(across for across, _ in sizes)), high + max(down for _, down in sizes)
        if rows and high > TALLEST * wide:
            break
        rows.append([on_paper(*row)])
    return rows


def _in_columns(row: Sequence[Description]) -> Sequence[Description]:
    """A row of a head's steps in the columns in which they are largest; of several sides those of the query alone."""
    sides = [one for one in row if isinstance(one, HeadSteps)]
    if len(sides) != 1:
        return [*map(steps.of_query, sides)] or row
    wide, high = steps.size(sides[0])
    n_columns = max(range(1, MAX_COLUMNS + 1), key=lambda n: min(ACROSS / (wide * n), DOWN / (high / n)))
    return steps.columns(sides[0], n_columns)


def _place(figure: "Figure", drawings: Drawings, palette: Palette) -> None:
    """The picture in the room between title and foot, drawn at the size that it has there."""
    from matplotlib.image import imread

    drawn = picture(drawings, palette, lettered=False, shape=ACROSS / DOWN)
    wide, high = drawn.get_size_inches()
    scale = min(ACROSS / wide, DOWN / high, LARGEST)
    pixels = io.BytesIO()
    drawn.savefig(pixels, format="png", dpi=DPI * scale)
    pixels.seek(0)
    image = imread(pixels)
    bottom = MARGIN + FOOT + max(0.0, DOWN - high * scale) / 2
    figure.figimage(image, round(MARGIN * DPI), round(bottom * DPI))
