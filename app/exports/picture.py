"""What several pictures have in common: axes, matrices with what they lack, the page's scales of colours, origin."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from headlight.app.exports.facts import Subject, called, inputs, sources
from headlight.app.exports.style import Palette, colour_map
from headlight.app.figures.colours import TICKS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

MAX_FONT, SMALLEST_FONT = 8.0, 4.0  # points
LONGEST_LABEL = 14
POINTS = 72  # an inch
PITCH = 0.22  # inches that a head wants
MAX_LEVEL = 16  # heads whose names have room to lie level
LARGEST = 6.0, 8.0  # inches across and down
Cells = Float[np.ndarray, "..."]


def largest(values: Iterable[Cells]) -> float:
    """The largest size of any cell; 1 where there is none but zeros."""
    return max(float(np.nanmax(np.abs(cells), initial=0.0, where=~np.isnan(cells))) for cells in values) or 1.0


def scale(limit: float, signed: bool, root: bool) -> "Normalize":
    """From 0, or from -limit, to limit; by the square root of the size if asked."""
    from matplotlib.colors import FuncNorm, Normalize

    lowest = -limit if signed else 0.0
    return FuncNorm((_root, _square), lowest, limit) if root else Normalize(lowest, limit)


def ticks(limit: float, signed: bool, root: bool) -> list[float]:
    """Values to write beside a colour bar."""
    shares = TICKS["sqrt" if root else "linear"]["signed" if signed else "positive"]
    return [limit * share for share in shares]


def _root(values: Cells) -> Cells:
    return np.sign(values) * np.sqrt(np.abs(values))


def _square(values: Cells) -> Cells:
    return np.sign(values) * np.square(values)


def matrix(
    axes: "Axes", values: Float[np.ndarray, "row column"], palette: Palette, norm: "Normalize", signed: bool
) -> "AxesImage":
    """Cells in their colours; where they are not numbers, the ground shows."""
    image = axes.imshow(
        np.ma.masked_invalid(values), cmap=colour_map(palette, signed), norm=norm, interpolation="none", aspect="auto"
    )
    axes.tick_params(length=0)
    return image


@dataclass(frozen=True)
class Colours:
    """What the colours of matrices mean; of two that are the same but for `own` each has a bar."""

    title: str
    limit: float
    signed: bool
    root: bool
    own: int | None = None


def maps(
    figure: "Figure", drawn: "Iterable[tuple[Axes, Float[np.ndarray, 'row column'], Colours]]", palette: Palette
) -> "list[AxesImage]":
    """Matrices on their axes, and under those whose colours mean the same a bar; returns them."""
    every: list[AxesImage] = []
    of_colours: dict[Colours, list[AxesImage]] = {}
    for axes, values, its in drawn:
        every.append(matrix(axes, values, palette, scale(its.limit, its.signed, its.root), its.signed))
        of_colours.setdefault(its, []).append(every[-1])
    for its, found in of_colours.items():
        marks = ticks(its.limit, its.signed, its.root)
        colour_bar(figure, found[0], [image.axes for image in found], its.title, marks)
    return every


def write(
    image: "AxesImage",
    values: Float[np.ndarray, "row column"],
    palette: Palette,
    say: Callable[[int, int, float], str],
    **look: Any,
) -> None:
    """What there is to `say` of each cell (row, column, value) that has one, in black or white on its colour."""
    for (row, column), value in np.ndenumerate(values):
        if not np.isnan(value):  # what is masked has no colour
            colour = ink(tuple(image.cmap(image.norm(value))), palette) if np.isfinite(value) else palette.text
            text = say(row, column, float(value))
            image.axes.text(column, row, text, **{"ha": "center", "va": "center", "color": colour, **look})


def label_heads(axes: "Axes", shape: tuple[int, ...], inches: tuple[float, float], palette: Palette) -> None:
    """The sides of a map of all heads, on a ground that is seen where a head has no number."""
    n_layers, n_heads = shape
    axes.patch.set_facecolor(palette.secondary)
    label_axis(axes, "x", [f"H{head}" for head in range(n_heads)], inches[0])
    label_axis(axes, "y", [f"L{layer}" for layer in range(n_layers)], inches[1])
    axes.tick_params(axis="x", rotation=0 if n_heads <= MAX_LEVEL else 90)


def hatched(axes: "Axes", palette: Palette) -> None:
    """Ground that stands for masked cells."""
    axes.patch.set(hatch="/////", edgecolor=palette.border, linewidth=0)


def flat(axes: "Axes", palette: Palette, rows: Sequence[int], columns: Sequence[int]) -> None:
    """Rows and columns that a run does not have, without hatching."""
    for row in rows:
        axes.axhspan(row - 0.5, row + 0.5, color=palette.secondary, linewidth=0)
    for column in columns:
        axes.axvspan(column - 0.5, column + 0.5, color=palette.secondary, linewidth=0)


def label_axis(axes: "Axes", which: str, labels: Sequence[str], inches: float) -> None:
    """Labels at 0, 1, 2, ...: all where there is room, else every second, fifth, tenth, ..."""
    pitch = inches * POINTS / max(1, len(labels))
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500) if step * pitch >= SMALLEST_FONT + 1)
    places = list(range(0, len(labels), step))
    texts = [_short(labels[place]) if step <= 5 else str(place) for place in places]
    size = min(MAX_FONT, max(SMALLEST_FONT, 0.8 * pitch * step))
    if which == "x":
        axes.set_xticks(places, texts, rotation=90, fontsize=size)
    else:
        axes.set_yticks(places, texts, fontsize=size)


def _short(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"


def colour_bar(
    figure: "Figure",
    image: "ScalarMappable",
    axes: "Sequence[Axes]",
    title: str,
    ticks: Sequence[float],
    read: Sequence[float] | None = None,
) -> None:
    """A slim bar under some axes, with numbers at these values: themselves, or others that they are read as."""
    columns = len({spec.colspan.start for each in axes if (spec := each.get_subplotspec()) is not None})
    bar = figure.colorbar(image, ax=list(axes), location="bottom", shrink=0.8, aspect=24 * columns, pad=0.02)
    bar.outline.set_linewidth(0.4)
    bar.set_ticks(list(ticks), labels=[f"{tick:.3g}".replace("-", "−") for tick in read or ticks])
    bar.minorticks_off()
    bar.ax.tick_params(labelsize=7, length=2)
    bar.set_label(title, fontsize=7.5)


def origin(figure: "Figure", found: Subject, palette: Palette, note: str = "") -> None:
    """A small line that says which weights this is of, which edits were made, and what there is to note."""
    text = f"{note}   " if note else ""
    text += "   ".join(f"{called(each)} (sha256 {each.sha256[:12]}…)" for each in sources(found).values())
    text += "".join(f"   {each.called} is edited: {'; '.join(each.edits)}" for each in inputs(found) if each.edits)
    figure.supxlabel(text, fontsize=6, color=palette.faded, x=0.995, ha="right")


def ink(colour: tuple[float, ...], palette: Palette) -> str:
    """Black or white, whichever is easier to read on a colour."""
    red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in colour[:3])
    return "#101218" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.3 else "#ffffff"
