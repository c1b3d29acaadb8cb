"""Maps of cells, lines of tokens and the lens, as pictures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from headlight.app.components import CellAxis, CellMap, LensCells, LensGrid, TokenValues
from headlight.app.exports.pictures.axes import (
    colour_bar,
    label_axis,
    letters,
    matrix,
    number,
    scale,
    short,
    ticks,
    title,
    title_inches,
    write,
)
from headlight.app.exports.style import Palette
from headlight.app.figures.colours import LEAST_WRITTEN
from headlight.app.figures.text import token_name
from headlight.app.parts.grid import is_deep
from headlight.model.measure.difference import DIFFERENCE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.figure import SubFigure
    from matplotlib.image import AxesImage

CELL = 0.2  # inches of a cell with a label beside it
ACROSS, DOWN = (2.2, 8.0), (0.4, 7.0)  # inches of all cells, at least and at most
ROOM_FOR_NUMBER = 0.3, 0.14  # inches of a cell whose number can be read
NAMED = ("query's part", "key's part", "feature", "after", "and after")  # axes whose labels do not say what they are
ENDS = {"query": "from (query)", "key": "to (key)", **dict(zip(NAMED, NAMED, strict=True))}
AROUND = 0.9  # inches above and below a map, for its title and its colour bar
LENS_CELL = 0.62, 0.2  # inches
MAX_PLACES = 32  # of the lens beside each other; of a longer prompt those around the place looked at
LENS_FONT, LENS_LETTERS = 6.5, 10  # points, characters


def _inches(n_cells: int, bounds: tuple[float, float], cell: float = CELL) -> float:
    return min(bounds[1], max(bounds[0], cell * n_cells))


def _cells(drawn: CellMap) -> tuple[float, float]:
    """Inches of the cells alone, across and down; a pattern's are square."""
    rows, columns = drawn.values.shape
    wide, high = _inches(columns, ACROSS), _inches(rows, DOWN)
    if drawn.texts is not None:
        wide, high = _inches(columns, ACROSS, 0.36), _inches(rows, DOWN, 0.3)
    return (wide, wide) if _is_square(drawn) else (wide, high)


def _is_square(drawn: CellMap) -> bool:
    return tuple(drawn.rows.labels) == tuple(drawn.columns.labels)


def _laid(drawn: CellMap) -> CellMap:
    """The map as it stands: a deep model's layers across, as on the page."""
    if (drawn.rows.name, drawn.columns.name) != ("layer", "head") or not is_deep(drawn.values.shape):
        return drawn
    return replace(
        drawn,
        values=drawn.values.T,
        rows=drawn.columns,
        columns=drawn.rows,
        texts=None if drawn.texts is None else list(zip(*drawn.texts, strict=True)),
        unsure=None if drawn.unsure is None else drawn.unsure.T,
    )


def size(drawn: CellMap) -> tuple[float, float]:
    """Inches across and down."""
    drawn = _laid(drawn)
    wide, high = _cells(drawn)
    across = wide + letters(drawn.rows.labels) + 0.55
    return across, high + letters(drawn.columns.labels) + AROUND + title_inches(drawn.title, drawn.caption, wide)


def draw(drawn: CellMap, figure: "SubFigure", palette: Palette) -> None:
    """The cells with their labels, their colour bar, and numbers where there is room."""
    drawn, axes = _laid(drawn), figure.subplots()
    signed, away = drawn.scale == "signed", drawn.values - drawn.centre
    norm, marks = _norm(drawn)
    image = matrix(axes, away, palette, norm, signed)
    wide, high = _cells(drawn)
    label_axis(axes, "x", drawn.columns.labels, wide)
    label_axis(axes, "y", drawn.rows.labels, high)
    for side, name in (("x", drawn.columns.name), ("y", drawn.rows.name)):
        axes.set(**{f"{side}label": ENDS.get(name, "")})
    if _is_square(drawn):
        axes.set_box_aspect(1)
    doubted = np.zeros_like(away, bool) if drawn.unsure is None else drawn.unsure & ~np.isnan(away)
    _doubt(image, away, doubted, palette)
    meaning = f"Small: {drawn.unsure_as}" if doubted.any() else ""
    title(axes, drawn.title, "\n".join(filter(None, [drawn.caption, meaning])), wide, palette)
    colour_bar(figure, image, [axes], "", marks, [number(drawn.centre + mark) for mark in marks], drawn.bar)
    if drawn.texts is not None:
        texts = drawn.texts
        write(image, away, palette, lambda row, column, _: texts[row][column], fontsize=6)
    elif wide / len(drawn.columns.labels) >= ROOM_FOR_NUMBER[0] and high / len(drawn.rows.labels) >= ROOM_FOR_NUMBER[1]:
        hidden = doubted | (np.abs(away) < LEAST_WRITTEN * max(map(abs, drawn.limits)))
        sure = np.where(hidden, np.nan, away)
        write(image, sure, palette, lambda _row, _column, value: number(drawn.centre + value, "z.2f"), fontsize=5)


def leave_unnamed(every: "Sequence[Axes]") -> None:
    """Take the names of axes away but not their room, so that a map is as large as the one that has them."""
    for axes in every:
        if axes.images:
            axes.set(**{f"{side}label": " " for side in "xy" if getattr(axes, f"get_{side}label")()})


def _doubt(
    image: "AxesImage",
    values: Float[np.ndarray, "row column"],
    doubted: Bool[np.ndarray, "row column"],
    palette: Palette,
) -> None:
    """Leave colour only in the middle of the cells that are doubted, as the page does."""
    from matplotlib.patches import Rectangle

    for row, column in np.argwhere(doubted):
        colour = image.cmap(image.norm(values[row, column]))
        image.axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, color=palette.background, linewidth=0))
        image.axes.add_patch(Rectangle((column - 0.2, row - 0.2), 0.4, 0.4, color=colour, linewidth=0))


def _norm(drawn: CellMap) -> "tuple[Normalize, list[float]]":
    """The colours' scale, and the values that the colour bar names."""
    from matplotlib.colors import LogNorm, Normalize

    low, high = drawn.limits
    if drawn.scale == "log":
        return LogNorm(low, high), np.geomspace(low, high, 5).tolist() if high > low else [low]
    high = high or 1.0
    if drawn.scale == "linear" and low:
        return Normalize(low, high), np.linspace(low, high, 5).tolist()
    signed, root = drawn.scale == "signed", drawn.scale != "linear"
    return scale(high, signed, root), ticks(high, signed, root)


def _of_lines(drawn: TokenValues) -> CellMap:
    return CellMap(
        drawn.values,
        CellAxis("", list(drawn.lines)),
        CellAxis("token", drawn.labels, numbered=True),
        title=drawn.title,
        caption=drawn.caption,
        scale="signed" if drawn.signed else "linear",
    )


def size_of_lines(drawn: TokenValues) -> tuple[float, float]:
    """Inches across and down."""
    return size(_of_lines(drawn))


def draw_lines(drawn: TokenValues, figure: "SubFigure", palette: Palette) -> None:
    """Each line of tokens as a row of cells."""
    draw(_of_lines(drawn), figure, palette)


@dataclass(frozen=True, eq=False)
class _LensSide:
    """One side's cells: texts and values [layer, place], and how far its colours go."""

    name: str
    layers: Sequence[str]
    texts: list[list[str]]
    values: Float[np.ndarray, "layer place"]
    limit: float
    signed: bool
    settled: Sequence[int] | None = None


def size_of_lens(drawn: LensGrid) -> tuple[float, float]:
    """Inches across and down."""
    places = min(MAX_PLACES, len(drawn.labels))
    rows = sum(len(side.layers) for side in _sides(drawn))
    return max(4.0, places * LENS_CELL[0] + 0.6), rows * LENS_CELL[1] + 1.0 * len(_sides(drawn))


def draw_lens(drawn: LensGrid, figure: "SubFigure", palette: Palette) -> None:
    """The final layer on top, each cell with its top token; A, B and B - A one under another."""
    sides = _sides(drawn)
    rows = figure.subplots(len(sides), 1, squeeze=False, height_ratios=[len(side.layers) for side in sides])[:, 0]
    window = _window(drawn)
    labels = drawn.labels[window]
    unit = f" ({drawn.colours.unit})" if drawn.colours.unit else ""
    what = f"{drawn.colours.lens}: {drawn.colours.name}{unit}"
    for axes, side in zip(rows, sides, strict=True):
        image = matrix(axes, side.values, palette, scale(side.limit, side.signed, root=False), side.signed)
        if not side.signed and drawn.colours.ends[0] > drawn.colours.ends[1]:  # of ranks the best is the strongest
            image.set_cmap(image.get_cmap().reversed())
        axes.patch.set(facecolor=palette.secondary, hatch=None)
        axes.invert_yaxis()
        n_layers, n_places = side.values.shape
        axes.vlines(np.arange(n_places - 1) + 0.5, -0.5, n_layers - 0.5, color=palette.background, linewidth=0.8)
        axes.hlines(np.arange(n_layers - 1) + 0.5, -0.5, n_places - 0.5, color=palette.background, linewidth=0.8)
        write(image, side.values, palette, _top_of(side), fontsize=LENS_FONT, va="center_baseline", clip_on=True)
        for place, layer in enumerate(side.settled or ()):  # the edge of a guess that stays
            axes.vlines(place - 0.48, layer - 0.5, n_layers - 0.5, color=palette.pin, linewidth=1.2)
        axes.set_yticks(range(n_layers), side.layers, fontsize=7)
        axes.set_xticks(
            range(n_places),
            [short(token_name(label, window.start + place)) for place, label in enumerate(labels)],
            fontsize=7,
            fontweight="bold",
        )
        if n_places < len(drawn.labels):
            axes.set_xlabel(f"places {window.start} to {window.stop - 1} of {len(drawn.labels)}", fontsize=7)
        axes.set_title(side.name, fontsize=8)
        named = f"change of {what}" if side.signed else what
        colour_bar(figure, image, [axes], named, ticks(side.limit, side.signed, root=False))


def _top_of(side: _LensSide) -> Callable[[int, int, float], str]:
    return lambda layer, place, _: short(token_name(side.texts[layer][place], 1), LENS_LETTERS)


def _window(drawn: LensGrid) -> slice:
    """The places that there is room for, around the one looked at."""
    n_places = len(drawn.labels)
    first = max(0, min(drawn.place % n_places - MAX_PLACES // 2, n_places - MAX_PLACES))
    return slice(first, min(n_places, first + MAX_PLACES))


def _sides(drawn: LensGrid) -> list[_LensSide]:
    window, limit = _window(drawn), max(drawn.colours.ends)
    texts = [_texts(cells, drawn.vocabulary, window) for cells in drawn.cells]
    values = [cells.measure[:, window] for cells in drawn.cells]
    names = ("A", "B") if drawn.b is not None else ("",)
    parts = zip(names, drawn.cells, texts, values, strict=True)
    sides = [
        _LensSide(name, cells.layer_labels, own, side_values, limit, False, _settled(cells, window))
        for name, cells, own, side_values in parts
    ]
    if drawn.b is None:
        return sides
    both = [[_change(a, b) for a, b in zip(*layers, strict=True)] for layers in zip(*texts, strict=False)]
    change = values[1][: len(both)] - values[0][: len(both)]
    most = float(np.nanmax(np.abs(change), initial=0.0)) or 1.0
    return [
        *sides,
        _LensSide(DIFFERENCE.replace("-", "−"), drawn.a.layer_labels[: len(both)], both, change, most, True),
    ]


def _texts(cells: LensCells, vocabulary: Sequence[str], window: slice) -> list[list[str]]:
    """Each cell's top token, nothing where the run has no token, or a story does not write it."""
    top = cells.top[:, window, 0]
    if cells.changes is not None:
        top = np.where(cells.changes[:, window], top, -1)
    return [["" if token < 0 else vocabulary[token] for token in layer] for layer in top.tolist()]


def _settled(cells: LensCells, window: slice) -> Sequence[int] | None:
    return None if cells.settled is None else cells.settled[window].tolist()


def _change(a: str, b: str) -> str:
    return "" if not (a and b) else b if a == b else f"{short(a, 4)}→{short(b, 4)}"
