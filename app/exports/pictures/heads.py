"""A score of every head as a map, with the labels that the heads have."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from app.exports.numbers.heads import found_of
from app.exports.pictures.parts import colour_bar, ink, label_axis, matrix, origin
from app.exports.pictures.prompts import LARGEST, MOST_LEVEL, PITCH
from app.exports.pictures.scales import largest, scale, ticks
from app.exports.pictures.style import Palette
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.found import Found
from app.views.labels import SCORES, by_kind, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

SMALLEST = (4.2, 1.6)  # inches across and down
ROOM_FOR_TEXT = 0.3  # inches that a number needs


def draw(texts: Sequence[str], shown: Shown, chosen: Selection, palette: Palette) -> "Figure":
    """A square a head, the first layer on top, with its label's icon where it has one."""
    from matplotlib.figure import Figure

    found = found_of(texts, shown, chosen)
    down, across = found.values.shape
    width, height = (
        min(most, max(least, 1.6 * PITCH * n)) for least, most, n in zip(SMALLEST, LARGEST, (across, down), strict=True)
    )
    figure = Figure(figsize=(width + 0.8, height + 1.4), layout="constrained")
    figure.suptitle(_title(found, chosen), fontsize=10, x=0.01, ha="left")
    axes = figure.subplots()
    limit = largest([found.values]) if found.signed else 1.0
    norm = scale(limit, signed=found.signed, root=False)
    image = matrix(axes, found.values, palette, norm, signed=found.signed)
    axes.patch.set_facecolor(palette.secondary)
    label_axis(axes, "x", [f"H{head}" for head in range(across)], width)
    label_axis(axes, "y", [f"L{layer}" for layer in range(down)], height)
    axes.tick_params(axis="x", rotation=0 if across <= MOST_LEVEL else 90)
    if width / across >= ROOM_FOR_TEXT:
        _numbers(axes, image, found, palette)
    colour_bar(figure, image, [axes], f"{found.measure.name} ({found.unit})", ticks(limit, found.signed, root=False))
    origin(figure, Shown(shown.a), palette)
    return figure


def _title(found: Found, chosen: Selection) -> str:
    """What is shown, and what the icons stand for."""
    of = (
        f"{found.n_sequences:,} random repeats" if chosen.finder_data == "repeats" else f"{found.n_sequences:,} prompts"
    )
    title = SCORES[found.score].title if found.score == "copying" else f"{SCORES[found.score].title} over {of}"
    return "\n".join(filter(None, (title, "   ".join(map(words, by_kind(found.labels))))))


def _numbers(axes: "Axes", image: "AxesImage", found: Found, palette: Palette) -> None:
    """Each head's score, and under it the icons of its labels."""
    colours: np.ndarray = np.asarray(image.cmap(image.norm(found.values)))
    for head in found.order():
        icons = " ".join(SCORES[kind].icon for kind in found.labels.get(head, ()))
        colour = ink(tuple(colours[head]), palette)
        axes.text(
            head[1],
            head[0],
            f"{found.values[head]:.2f}\n{icons}".strip(),
            ha="center",
            va="center",
            fontsize=6,
            color=colour,
        )
