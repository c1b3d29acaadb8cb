"""The scatter of all heads as a picture: those that are chosen are ringed and named."""

from typing import TYPE_CHECKING

import numpy as np

from headlight.app.exports.picture import colour_bar
from headlight.app.exports.style import Palette, colour_map
from headlight.app.figures.corpus import Scale
from headlight.app.pages.corpus.plots import called, named, scales
from headlight.app.pages.corpus.scan_view import find
from headlight.app.selection.chosen import Selection
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = 5.2, 4.6  # inches
RING = "#d55e00"


def draw(comparison: Comparison, chosen: Selection, palette: Palette) -> "Figure":
    """A point a head, with the scan's model and corpus over it."""
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    found = find(comparison, chosen)
    assert found is not None  # without a scan nothing is offered
    x, y, colour = scales(found)
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    points = axes.scatter(
        x.values,
        y.values,
        c=np.nan_to_num(colour.values),
        cmap=colour_map(palette, colour.signed),
        norm=Normalize(*colour.ends),
        s=26,
        edgecolors=palette.faded,
        linewidths=0.4,
    )
    for place, head in enumerate(found.listed):
        if head in found.heads:
            _ring(axes, x, y, place, head_name(head))
    axes.set(xlabel=x.title, ylabel=y.title)
    axes.set_title(
        " | ".join(f"{named(tree)} over {called(tree.dataset_name)}" for tree in filter(None, (found.a, found.b)))
    )
    axes.spines[["top", "right"]].set_visible(False)
    colour_bar(figure, points, [axes], colour.title, list(np.linspace(*colour.ends, 5)))
    return figure


def _ring(axes: "Axes", x: Scale, y: Scale, place: int, name: str) -> None:
    at = float(x.values[place]), float(y.values[place])
    if np.isfinite(at).all():
        axes.plot(*at, "o", markersize=10, markerfacecolor="none", markeredgecolor=RING, markeredgewidth=1.4)
        axes.annotate(name, at, xytext=(0, 8), textcoords="offset points", ha="center", fontsize=7)
