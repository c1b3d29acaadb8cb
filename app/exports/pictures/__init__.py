"""Pictures for papers: a page's drawings by matplotlib, row by row."""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from headlight.app.components import CellMap, FlowGraph, HeadSteps, LensGrid, Table, TokenBars, TokenValues
from headlight.app.exports.drawings import BarList, Description, Drawings, TextLines
from headlight.app.exports.facts import inputs, sources
from headlight.app.exports.pictures import flow, maps, plots, steps, text_lines, texts, writing
from headlight.app.exports.pictures.fitting import fit
from headlight.app.exports.style import Palette
from headlight.app.figures import Plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

WIDEST = 40.0  # inches
STRETCH = 1.4  # times its width that a description may get
TITLE, FOOT, LETTER = 0.3, 0.2, 0.22  # inches
LETTERS, FOOT_LETTERS = 13, 22  # of the title and of the last line, in an inch
NARROW = 0.3  # inches, for the lines of a title that a narrow part has
EMPTY = 4.0, 1.0  # inches of a picture that shows nothing


@dataclass(frozen=True)
class Drawer:
    """Function that draws one kind of description, and its size in inches across and down."""

    size: Callable[[Any], tuple[float, float]]
    draw: Callable[[Any, "SubFigure", Palette], None]


DRAWERS: dict[type, Drawer] = {
    CellMap: Drawer(maps.size, maps.draw),
    TokenValues: Drawer(maps.size_of_lines, maps.draw_lines),
    LensGrid: Drawer(maps.size_of_lens, maps.draw_lens),
    Plot: Drawer(plots.size, plots.draw),
    BarList: Drawer(plots.size_of_list, plots.draw_list),
    FlowGraph: Drawer(flow.size, flow.draw),
    HeadSteps: Drawer(steps.size, steps.draw),
    TokenBars: Drawer(writing.size, writing.draw),
    Table: Drawer(texts.size, texts.draw),
    TextLines: Drawer(text_lines.size, text_lines.draw),
}


def picture(drawings: Drawings, palette: Palette, lettered: bool = True, inches: float | None = None) -> "Figure":
    """Picture of all that fits on paper, each row at its own width, with the title above and the weights below.

    Several parts are `lettered` a, b, c, by which a paper's text names them. Where it is to be so many `inches` wide,
    rows are broken, wide parts drawn narrower, and no text has less than six points.
    """
    from matplotlib.figure import Figure

    rows = [[one for drawing in row for one in drawing.for_paper if type(one) in DRAWERS] for row in drawings.rows]
    rows = [line for row in rows for line in _lines(row, inches or WIDEST) if line]
    sizes = [[_size(one, inches) for one in row] for row in rows]
    lettered = lettered and sum(map(len, rows)) > 1
    heights = [max(height for _, height in row) + LETTER * lettered for row in sizes]
    width = inches or max((sum(wide for wide, _ in row) for row in sizes), default=EMPTY[0])
    total = sum(heights) or EMPTY[1]
    heading = textwrap.wrap(drawings.finding or drawings.title.rstrip(","), round(LETTERS * width))
    figure_height = total + TITLE * max(1, len(heading)) + FOOT
    figure = Figure(figsize=(min(width, WIDEST), figure_height), layout="constrained")
    figure.suptitle("\n".join(heading), fontsize=10, x=0.01, ha="left")
    names = iter(ascii_lowercase if lettered else ())
    if rows:
        bands = figure.subfigures(len(rows), 1, squeeze=False, height_ratios=heights)[:, 0]
        for band, row, across in zip(bands, rows, sizes, strict=True):
            _row(band, row, across, width, palette, names)
    _origin(figure, drawings, palette)
    if inches is not None:
        fit(figure)
    return figure


def _lines(row: Sequence[Description], inches: float) -> Iterator[list[Description]]:
    """A row's descriptions in lines of this width."""
    line, free = list[Description](), inches
    for one in row:
        wide = DRAWERS[type(one)].size(one)[0]
        if line and wide > free:
            yield line
            line, free = [], inches
        line.append(one)
        free -= wide
    yield line


def _size(one: Description, inches: float | None) -> tuple[float, float]:
    """Its own size, or where it is wider than a column that of a part as wide; a map's cells keep their shape."""
    wide, high = DRAWERS[type(one)].size(one)
    if inches is None or wide <= inches:
        return wide, high
    return inches, high * (inches / wide if isinstance(one, CellMap) else 1.0) + NARROW


def alone(description: Description, palette: Palette) -> "Figure":
    """One description as a picture of its own."""
    from matplotlib.figure import Figure

    drawer = DRAWERS[type(description)]
    figure = Figure(figsize=drawer.size(description), layout="constrained")
    drawer.draw(description, figure.subfigures(1, 1, squeeze=False)[0, 0], palette)
    return figure


def _row(
    band: "SubFigure",
    row: Sequence[Description],
    sizes: Sequence[tuple[float, float]],
    width: float,
    palette: Palette,
    names: Iterator[str],
) -> None:
    """Descriptions side by side, as high as they want to be and as wide, or somewhat wider."""
    widths, high = [STRETCH * wide for wide, _ in sizes], max(height for _, height in sizes)
    spare = width - sum(widths)
    ratios = [*widths, spare] if spare > 0 else widths
    parts = band.subfigures(1, len(ratios), squeeze=False, width_ratios=ratios)[0]
    for part, one, (_, height) in zip(parts, row, sizes, strict=False):
        if name := next(names, ""):  # of more than there are letters the rest has none
            part.suptitle(name, x=0.005, ha="left", fontsize=9, weight="bold")
        if high > STRETCH * height:
            part = part.subfigures(2, 1, height_ratios=[height, high - height])[0]
        DRAWERS[type(one)].draw(one, part, palette)


def _origin(figure: "Figure", drawings: Drawings, palette: Palette) -> None:
    """Small line with the models, the edits, and the notes."""
    parts = [drawings.note] if drawings.note else []
    if drawings.runs is not None:
        parts += [f"{source.short_name} (sha256 {source.sha256[:12]}…)" for source in sources(drawings.runs).values()]
        parts += [f"{one.called} is edited: {'; '.join(one.edits)}" for one in inputs(drawings.runs) if one.edits]
    width = round(FOOT_LETTERS * figure.get_figwidth())
    text = "\n".join(textwrap.wrap("   ".join(parts), width, replace_whitespace=False, drop_whitespace=True))
    figure.supxlabel(text, fontsize=6, color=palette.faded, x=0.995, ha="right")
