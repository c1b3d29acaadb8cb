"""Common parts of several drawers: colour scales and bars, labels along an axis, and text in cells."""

import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from headlight.app.exports.style import Palette, colour_map
from headlight.app.figures.colours import ON_DARK, ON_LIGHT, TICKS
from headlight.app.figures.text import token_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import SubFigure
    from matplotlib.image import AxesImage

BESIDE = 0.4  # inches of a part beside its axes, at least
MAX_FONT, MIN_FONT = 8.0, 4.0  # points
MAX_LABEL = 18  # characters
POINTS = 72  # an inch
BAR_SHARE, BAR_POINTS = 0.4, 5  # of the axes' width that a colour bar takes, and how thick it is
BAR_INCHES = 1.7  # that its numbers need
LETTER, TITLE_LETTER = 0.065, 0.075  # inches of a character of a label or a caption, and of a title
TITLE_POINTS, CAPTION_POINTS, LEGEND_POINTS = 8, 8.5, 10
THOUSANDS = 1000  # of which large numbers are counted
Cells = Float[np.ndarray, "..."]


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
    """Cells in their colours; where they are not numbers, hatched ground shows."""
    image = axes.imshow(
        np.ma.masked_invalid(values), cmap=colour_map(palette, signed), norm=norm, interpolation="none", aspect="auto"
    )
    axes.tick_params(length=0)
    axes.patch.set(hatch="/////", edgecolor=palette.border, linewidth=0)
    return image


def write(
    image: "AxesImage",
    values: Float[np.ndarray, "row column"],
    palette: Palette,
    say: Callable[[int, int, float], str],
    **look: Any,
) -> None:
    """Write the text that `say` gives for each present cell (row, column, value), in black or white on its colour."""
    for (row, column), value in np.ndenumerate(values):
        if not np.isnan(value):  # what is masked has no colour
            colour = ink(tuple(image.cmap(image.norm(value))), palette) if np.isfinite(value) else palette.text
            text = say(row, column, float(value))
            image.axes.text(column, row, text, **{"ha": "center", "va": "center", "color": colour, **look})


def label_axis(axes: "Axes", which: str, labels: Sequence[str], inches: float) -> None:
    """Labels at 0, 1, 2, ...: all where there is room, else every second, fifth, tenth, ..."""
    if which == "x":
        inches = min(inches, room(axes) - BESIDE)
    pitch = inches * POINTS / max(1, len(labels))
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500) if step * pitch >= MIN_FONT + 1)
    places = list(range(0, len(labels), step))
    texts = [short(token_name(labels[place], place)) if step <= 5 else str(place) for place in places]
    size = min(MAX_FONT, max(MIN_FONT, 0.8 * pitch * step))
    if which == "x":
        level = max(map(len, texts), default=0) * LETTER < inches / max(1, len(places))
        axes.set_xticks(places, texts, rotation=0 if level else 90, fontsize=size)
    else:
        axes.set_yticks(places, texts, fontsize=size)


def room(axes: "Axes") -> float:
    """Inches across of the part of the picture in which the axes stand."""
    return float(axes.figure.bbox.width / axes.figure.dpi)


def short(label: str, most: int = MAX_LABEL) -> str:
    """Label truncated to this many characters."""
    return label if len(label) <= most else f"{label[: most - 1]}…"


def title(axes: "Axes", text: str, caption: str, inches: float, palette: Palette, legend_lines: int = 0) -> None:
    """A title in as many lines as it needs, over a fainter caption and the room of a legend."""
    inches = min(inches, room(axes) - BESIDE)
    small, large = lines(caption, inches, LETTER), lines(text, inches, TITLE_LETTER)
    pad = 4 + CAPTION_POINTS * len(small) + LEGEND_POINTS * legend_lines
    axes.set_title("\n".join(large), fontsize=TITLE_POINTS, pad=pad)
    if not small:
        return
    axes.annotate(
        "\n".join(small),
        (0, 1),
        xycoords="axes fraction",
        xytext=(0, 3 + LEGEND_POINTS * legend_lines),
        textcoords="offset points",
        fontsize=6.5,
        color=palette.faded,
    )


def title_inches(text: str, caption: str, inches: float) -> float:
    """Height of a title and a caption beyond one line of title, in inches."""
    more = TITLE_POINTS * (len(lines(text, inches, TITLE_LETTER)) - 1)
    return 1.2 * (more + CAPTION_POINTS * len(lines(caption, inches, LETTER))) / POINTS


def lines(text: str, inches: float, letter: float) -> list[str]:
    """A text in lines that have room."""
    width = max(20, round(inches / letter))
    return [part for line in text.split("\n") for part in textwrap.wrap(line, width)]


def letters(labels: Sequence[str], most: int = MAX_LABEL) -> float:
    """Inches that the longest of these labels takes."""
    return LETTER * max((len(short(label, most)) for label in labels), default=0)


def colour_bar(
    figure: "SubFigure",
    image: "ScalarMappable",
    axes: "Sequence[Axes]",
    title: str,
    ticks: Sequence[float],
    read_as: Sequence[str] = (),
    is_there: bool = True,
) -> None:
    """A slim bar under the left of some axes, with numbers at these values: themselves, or others they are read as.

    Where it is not there its room is, so that the axes are as large as those beside them.
    """
    width = max(BAR_INCHES, room(axes[0]) - BESIDE)
    share = max(BAR_SHARE, BAR_INCHES / width)
    left: dict[str, Any] = {"anchor": (0.0, 1.0), "panchor": (0.0, 1.0)}
    aspect = share * width * POINTS / BAR_POINTS
    bar = figure.colorbar(image, ax=list(axes), location="bottom", shrink=share, aspect=aspect, pad=0.02, **left)
    bar.outline.set_linewidth(0.4)
    labels = list(read_as) or [number(tick) for tick in ticks]
    kept = _apart(share * width * np.asarray(image.norm(np.array(ticks, float))), labels)
    bar.set_ticks([ticks[place] for place in kept], labels=[labels[place] for place in kept])
    bar.minorticks_off()
    bar.ax.tick_params(labelsize=7, length=2)
    bar.set_label(title, fontsize=7.5)
    if not is_there:
        bar.set_label(" " if title else "")
        assert bar.solids is not None  # an image has them
        bar.solids.set_visible(False)
        bar.outline.set_visible(False)
        bar.set_ticks(list(ticks), labels=[" "] * len(ticks))
        bar.ax.tick_params(color="none")


def _apart(places: Float[np.ndarray, " label"], labels: Sequence[str]) -> list[int]:
    """Those of the labels at these places (inches) that do not touch: both ends, the middle, and others between."""
    last, kept = len(labels) - 1, list[int]()
    for label in sorted({0, last}) + sorted({*range(1, last)}, key=lambda label: abs(2 * label - last)):
        room = [LETTER * (len(labels[label]) + len(labels[one]) + 2) / 2 for one in kept]
        if all(abs(places[label] - places[one]) > least for one, least in zip(kept, room, strict=True)):
            kept.append(label)
    return sorted(kept)


def number(value: float, digits: str = "") -> str:
    """A number with a minus sign, with three digits if no others are asked for; thousands are whole."""
    return f"{value:{digits or (',.0f' if abs(value) >= THOUSANDS else '.3g')}}".replace("-", "−")


EQUAL = 0.19  # the luminance at which both inks have the same contrast, by WCAG 2's formula


def ink(colour: tuple[float, ...], palette: Palette) -> str:
    """Black or white, whichever is easier to read on a colour."""
    red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in colour[:3])
    return ON_LIGHT if 0.2126 * red + 0.7152 * green + 0.0722 * blue > EQUAL else ON_DARK
