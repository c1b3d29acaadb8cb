"""The prompt with lines from one token to those that it attends to, as a picture."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headlight.app.exports.drawings import TextLines
from headlight.app.exports.pictures.axes import ink, number, room
from headlight.app.exports.style import Palette, colour_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

WIDTH = 11.6  # inches of a line of text
LETTER, FONT = 0.092, 11  # inches of a monospaced character, and its points
LINE, ARC = 0.34, 0.7  # inches of a line of text, and of the room for arcs over the first
HIGH = 0.26  # inches of a token
GAP, TIGHT = 1.0, 0.4  # characters between words, and between tokens of one
BESIDE = 0.2  # inches of room beside the text
FAINTEST = 0.02  # of the whole attention: what is less has no line


@dataclass(frozen=True)
class _Box:
    """A token's place: its left edge and width in characters, and its line of text."""

    left: float
    width: float
    line: int

    @property
    def middle(self) -> float:
        return self.left + self.width / 2


def size(drawn: TextLines, inches: float = WIDTH + BESIDE) -> tuple[float, float]:
    """Inches across and down, where there is room for so many across."""
    boxes = _boxes(drawn, inches)
    across = max(box.left + box.width for box in boxes) * LETTER
    return across + BESIDE, ARC + LINE * (boxes[-1].line + 1) + 0.1


def draw(drawn: TextLines, figure: "SubFigure", palette: Palette) -> None:
    """Tokens in the colours of their weights, arcs as wide as these, the largest weight over its own."""
    axes = figure.subplots()
    _, down = size(drawn, room(axes))
    axes.set_axis_off()
    wide = (room(axes) - BESIDE / 2) / LETTER  # as many characters as the part has room for, so that each has its own
    axes.set(xlim=(-1, wide - 1), ylim=(down, -ARC))  # characters and inches
    boxes = _boxes(drawn, room(axes))
    colours = colour_map(palette, signed=False)
    largest = int(np.nanargmax(drawn.weights)) if np.isfinite(drawn.weights).any() else None
    for key, weight in enumerate(np.nan_to_num(drawn.weights)):
        colour = tuple(colours(np.sqrt(weight)))
        _token(axes, boxes[key], drawn.words[key], colour if weight >= FAINTEST else None, palette)
        if weight >= FAINTEST and key != drawn.query:
            top = _line(axes, boxes[drawn.query], boxes[key], float(weight), colour)
            if key == largest and boxes[key].line == boxes[drawn.query].line == 0:
                middle = (boxes[drawn.query].middle + boxes[key].middle) / 2
                axes.text(middle, top - 0.05, number(weight, ".2f"), fontsize=8, fontweight="bold", ha="center")
    _frame(axes, boxes[drawn.query], palette.pin, "solid")
    if drawn.predicted:
        _token(axes, boxes[-1], drawn.predicted, None, palette)
        _frame(axes, boxes[-1], palette.bars[0], "dashed")


def _boxes(drawn: TextLines, inches: float) -> list[_Box]:
    """Tokens from left to right, on the next line where one has no more room, and last what is predicted."""
    texts = [*drawn.words, *filter(None, [drawn.predicted])]
    has_spaces = any(word.startswith(" ") for word in drawn.words)
    boxes, left, line = list[_Box](), 0.0, 0
    most = min(WIDTH, inches - BESIDE) / LETTER
    for place, text in enumerate(texts):
        width = len(text.strip())
        if place:
            is_word = place == 1 or text.startswith(" ") or not has_spaces
            left += 2 * GAP if place == len(drawn.words) else GAP if is_word else TIGHT
        if left and left + width > most:
            left, line = 0.0, line + 1
        boxes.append(_Box(left, width, line))
        left += width
    return boxes


def _token(axes: "Axes", box: _Box, text: str, colour: tuple[float, ...] | None, palette: Palette) -> None:
    from matplotlib.patches import Rectangle

    top = box.line * LINE
    if colour is not None:
        axes.add_patch(Rectangle((box.left - 0.2, top), box.width + 0.4, HIGH, color=colour, linewidth=0))
    written = palette.text if colour is None else ink(colour, palette)
    look: dict[str, Any] = {"family": "monospace", "color": written, "ha": "center", "va": "center"}
    axes.text(box.middle, top + HIGH / 2, text.strip(), fontsize=FONT, **look)


def _frame(axes: "Axes", box: _Box, colour: str, style: str) -> None:
    from matplotlib.patches import Rectangle

    place = (box.left - 0.3, box.line * LINE - 0.015)
    axes.add_patch(
        Rectangle(place, box.width + 0.6, HIGH + 0.03, fill=False, edgecolor=colour, linestyle=style, linewidth=1)
    )


def _line(axes: "Axes", query: _Box, key: _Box, weight: float, colour: tuple[float, ...]) -> float:
    """An arc over tokens of one line of text, or a curve between two; returns how high it comes."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    start, end = query.line * LINE, key.line * LINE + (HIGH if key.line < query.line else 0)
    rise = min(ARC - 0.2 if query.line == 0 else LINE - HIGH - 0.02, 0.12 + 0.014 * abs(query.middle - key.middle))
    bend = rise / 0.75 if query.line == key.line else (start - end) / 2  # a curve comes three quarters of the way
    points = [
        (query.middle, start),
        (query.middle, start - bend),
        (key.middle, end - (bend if query.line == key.line else -bend)),
        (key.middle, end),
    ]
    path = Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    look = {"edgecolor": (*colour[:3], 0.35 + 0.65 * weight), "linewidth": 0.6 + 4.4 * weight, "capstyle": "round"}
    axes.add_patch(PathPatch(path, fill=False, **look))
    return start - rise
