"""A score of every head as a map, with the labels that the heads have."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from headlight.app.exports.picture import LARGEST, MOST_LEVEL, PITCH, colour_bar, ink, label_axis, matrix, origin
from headlight.app.exports.scales import scale, ticks
from headlight.app.exports.style import Palette
from headlight.app.pages.heads.choices import Choices
from headlight.app.pages.heads.exports import found_of
from headlight.app.pages.heads.found import Found, Scored, changed
from headlight.app.pages.heads.head_map import limit_of
from headlight.app.parts.labels import SCORES, by_kind, words
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

SMALLEST = (4.2, 1.6)  # inches across and down
ROOM_FOR_TEXT = 0.3  # inches that a number needs


def draw(texts: Sequence[str], shown: Comparison, chosen: Selection, palette: Palette) -> "Figure":
    """A square a head, the first layer on top, with its label's icon where it has one; A, B and B - A side by side."""
    from matplotlib.figure import Figure

    found = found_of(texts, shown, chosen)
    sides: dict[str, Scored] = {**found}
    if "B" in found:
        sides[DIFFERENCE] = changed(found["A"], found["B"])
    down, across = (max(each.values.shape[axis] for each in sides.values()) for axis in (0, 1))
    width, height = (
        min(most, max(least, 1.6 * PITCH * n)) for least, most, n in zip(SMALLEST, LARGEST, (across, down), strict=True)
    )
    figure = Figure(figsize=(len(sides) * (width + 0.8), height + 1.4), layout="constrained")
    figure.suptitle(_title(found, chosen), fontsize=10, x=0.01, ha="left")
    grid = figure.subplots(1, len(sides), squeeze=False)
    limit = limit_of([*found.values()])
    for axes, (side, each) in zip(grid[0], sides.items(), strict=True):
        own = limit_of([each]) if side == DIFFERENCE else limit
        _map(figure, axes, each, palette, own, (width, height))
        if len(sides) > 1:
            axes.set_title(side)
    origin(figure, shown if "B" in found else Comparison(shown.a), palette)
    return figure


def _map(
    figure: "Figure", axes: "Axes", found: Scored, palette: Palette, limit: float, inches: tuple[float, float]
) -> None:
    down, across = found.values.shape
    norm = scale(limit, signed=found.signed, root=False)
    image = matrix(axes, found.values, palette, norm, signed=found.signed)
    axes.patch.set_facecolor(palette.secondary)
    label_axis(axes, "x", [f"H{head}" for head in range(across)], inches[0])
    label_axis(axes, "y", [f"L{layer}" for layer in range(down)], inches[1])
    axes.tick_params(axis="x", rotation=0 if across <= MOST_LEVEL else 90)
    if inches[0] / across >= ROOM_FOR_TEXT:
        _numbers(axes, image, found, palette)
    title = f"{found.measure.name} ({found.unit})"
    colour_bar(figure, image, [axes], title, ticks(limit, found.signed, root=False))


def _title(found: Mapping[str, Found], chosen: Selection) -> str:
    """What is shown, and what the icons stand for."""
    a = found["A"]
    of = f"{a.n_sequences:,} {'random repeats' if chosen.of(Choices).finder_data == 'repeats' else 'prompts'}"
    title = SCORES[a.score].title if a.score == "copying" else f"{SCORES[a.score].title} over {of}"
    kinds = {kind: None for each in found.values() for kind in by_kind(each.labels)}
    return "\n".join(filter(None, (title, "   ".join(map(words, kinds)))))


def _numbers(axes: "Axes", image: "AxesImage", found: Scored, palette: Palette) -> None:
    """Each head's score, and under it the icons of its labels."""
    colours: np.ndarray = np.asarray(image.cmap(image.norm(found.values)))
    for head in found.order():
        labels = found.labels if isinstance(found, Found) else {}
        icons = " ".join(SCORES[kind].icon for kind in labels.get(head, ()))
        colour = ink(tuple(colours[head]), palette)
        axes.text(
            head[1],
            head[0],
            f"{found.values[head]:.2f}\n{icons}".strip().replace("-", "−"),
            ha="center",
            va="center",
            fontsize=6,
            color=colour,
        )
