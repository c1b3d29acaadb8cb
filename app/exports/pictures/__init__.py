"""Pictures for papers: a page's drawings by matplotlib, row by row."""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from headlight.app.components import (
    CellMap,
    FlowGraph,
    HeadSteps,
    LensGrid,
    Table,
    TokenBars,
    TokenValues,
    bars_once,
)
from headlight.app.exports.drawings import BarList, Description, Drawings, TextLines
from headlight.app.exports.facts import inputs, sources
from headlight.app.exports.pictures import flow, maps, plots, steps, text_lines, texts, writing
from headlight.app.exports.pictures.fitting import fit
from headlight.app.exports.style import Palette
from headlight.app.figures import Plot
from headlight.model.text.labels import label

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

WIDEST, PAGE = 40.0, 9.0  # inches, of a row and of one that takes in what stands alone
STRETCH = 1.4  # times its width that a description may get
TITLE, FOOT, LETTER = 0.3, 0.12, 0.22  # inches of a line of the title, of one below, and of a part's letter
LETTERS, FOOT_LETTERS = 13, 19  # of the title and of the lines below, in an inch
FOOT_POINTS = 7
MAX_TEXT = 160  # characters of a prompt in the lines below
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


def picture(
    drawings: Drawings, palette: Palette, lettered: bool = True, inches: float | None = None, shape: float = 0.0
) -> "Figure":
    """Picture of all that fits on paper, each row at its own width, with the title above and the weights below.

    Several parts are `lettered` a, b, c, by which a paper's text names them. Where it is to be so many `inches` wide,
    rows are broken, wide parts drawn narrower, and no text has less than six points. Parts are stretched as far as
    they can be for a picture that has the `shape`, its width over its height.
    """
    from matplotlib.figure import Figure

    rows = [line for row in rows_of(drawings, inches or PAGE) for line in _lines(row, inches or WIDEST)]
    sizes = [[_size(one, inches) for one in row] for row in rows]
    lettered = lettered and sum(map(len, rows)) > 1
    heights = [max(height for _, height in row) + LETTER * lettered for row in sizes]
    width = inches or max((sum(wide for wide, _ in row) for row in sizes), default=EMPTY[0])
    total = sum(heights) or EMPTY[1]
    width = max(width, min(shape * (total + TITLE + FOOT), STRETCH * width))
    heading = textwrap.wrap(drawings.finding or drawings.title.rstrip(","), round(LETTERS * width))
    foot = textwrap.wrap("   ".join(_origin(drawings)), round(FOOT_LETTERS * width), replace_whitespace=False)
    figure_height = total + TITLE * max(1, len(heading)) + FOOT * (1 + len(foot))
    figure = Figure(figsize=(min(width, WIDEST), figure_height), layout="constrained")
    figure.suptitle("\n".join(heading), fontsize=10, x=0.01, ha="left")
    names = iter(ascii_lowercase if lettered else ())
    if rows:
        bands = figure.subfigures(len(rows), 1, squeeze=False, height_ratios=heights)[:, 0]
        for band, row, across in zip(bands, rows, sizes, strict=True):
            _row(band, row, across, width, palette, names)
    look: dict[str, Any] = {"fontsize": FOOT_POINTS, "color": palette.faded, "x": 0.01, "ha": "left"}
    figure.supxlabel("\n".join(foot), **look)
    if inches is not None:
        fit(figure)
    return figure


def rows_of(drawings: Drawings, inches: float = PAGE) -> list[list[Description]]:
    """What fits on paper, row by row; rows of one part have others beside them where there is room for both."""
    rows = [[one for drawing in row for one in drawing.for_paper if type(one) in DRAWERS] for row in drawings.rows]
    widths = [sum(DRAWERS[type(one)].size(one)[0] for one in row) for row in rows]
    widest, joined, used = max([inches, *widths]), list[list[Description]](), 0.0
    for row, wide in zip(rows, widths, strict=True):
        if joined and row and 1 in (len(row), len(joined[-1])) and used + wide <= widest:
            joined[-1].extend(row)
            used += wide
        elif row:
            joined.append(row)
            used = wide
    return joined


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
    if isinstance(one, TextLines) and inches is not None:
        return text_lines.size(one, inches)
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
    """Descriptions side by side, as high as they want to be and as wide, or somewhat wider.

    There is a bar for each scale, and of maps that share their axes the first names them.
    """
    widths, high = [STRETCH * wide for wide, _ in sizes], max(height for _, height in sizes)
    spare = width - sum(widths)
    ratios = [*widths, spare] if spare > 0 else widths
    parts, named = band.subfigures(1, len(ratios), squeeze=False, width_ratios=ratios)[0], set[tuple[Any, ...]]()
    for part, one, (_, height) in zip(parts, bars_once(row), sizes, strict=False):
        if name := next(names, ""):  # of more than there are letters the rest has none
            part.suptitle(name, x=0.005, ha="left", fontsize=9, weight="bold")
        if high > STRETCH * height:
            part = part.subfigures(2, 1, height_ratios=[height, high - height])[0]
        DRAWERS[type(one)].draw(one, part, palette)
        if isinstance(one, CellMap):
            ends = tuple(one.rows.labels), tuple(one.columns.labels)
            if ends in named:
                maps.leave_unnamed(part.axes)
            named.add(ends)


def _origin(drawings: Drawings) -> list[str]:
    """Notes, models, texts, roles of heads and edits, for the small lines below."""
    parts = [drawings.note] if drawings.note else []
    if drawings.runs is None:
        return parts
    texts = inputs(drawings.runs)
    parts += [f"{source.short_name} (sha256 {source.sha256[:12]}…)" for source in sources(drawings.runs).values()]
    if drawings.tokens:
        called = {text: one.called for one in reversed(texts) if (text := one.text)}
        several = len(called) > 1
        parts += [f"{f'{name}: ' if several else ''}{_quoted(text)}" for text, name in reversed(called.items())]
    parts += [drawings.roles] if drawings.roles else []
    return parts + [f"{one.called} is edited: {'; '.join(one.edits)}" for one in texts if one.edits]


def _quoted(text: str) -> str:
    """The beginning of a text in one line; what is not to be seen has signs."""
    shown = label(text[: MAX_TEXT + 1].encode()).replace("␣", " ")
    return f"“{shown}”" if len(text) <= MAX_TEXT else f"“{shown[:MAX_TEXT]}…”"
