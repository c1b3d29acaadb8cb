"""The map of patches as a picture, with its estimate under it where one was asked for."""

from typing import TYPE_CHECKING

from headlight.app.exports.picture import colour_bar, label_axis, matrix, origin, scale, ticks
from headlight.app.exports.style import Palette
from headlight.app.pages.patching.patches import finished, title
from headlight.app.pages.patching.view import drawn
from headlight.app.parts.pair import said_of_cap
from headlight.app.selection.chosen import Selection
from headlight.model.runs.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 6.4  # inches
ROW, SMALLEST, LARGEST = 0.22, 1.6, 6.0  # inches of a row, and of a map


def draw(comparison: Comparison, chosen: Selection, palette: Palette) -> "Figure":
    """One map, or two, the first layer on top."""
    from matplotlib.figure import Figure

    found = finished(comparison, chosen)
    maps = drawn(found)
    height = min(LARGEST, max(SMALLEST, ROW * len(found.exact.rows)))
    figure = Figure(figsize=(WIDTH, len(maps) * (height + 1.0) + 0.6), layout="constrained")
    figure.suptitle(title(found.question), fontsize=10, x=0.01, ha="left")
    for axes, (values, called) in zip(figure.subplots(len(maps), 1, squeeze=False)[:, 0], maps, strict=True):
        away = values.values - found.unpatched
        limit = found.limit(values)
        image = matrix(axes, away, palette, scale(limit, True, root=True), True)
        at = ticks(limit, True, root=True)
        colour_bar(figure, image, [axes], "share", at, [found.unpatched + tick for tick in at])
        axes.set_title(called)
        label_axis(axes, "x", values.columns, WIDTH - 1.4)
        label_axis(axes, "y", values.rows, height)
    origin(figure, comparison, palette, said_of_cap(comparison.runs))
    return figure
