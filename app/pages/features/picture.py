"""The strongest features by token as a picture, with what the dictionary misses of each token under them."""

from typing import TYPE_CHECKING

import numpy as np

from headlight.app.exports.picture import Colours, label_axis, largest, maps, origin
from headlight.app.exports.style import Palette
from headlight.app.pages.features.feature_view import FeatureView, find
from headlight.app.selection.chosen import Selection
from headlight.model.features.tables import activations, missed
from headlight.model.measure.difference import DIFFERENCE
from headlight.model.runs.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW, PITCH = 0.16, 0.11  # inches: of a feature, and what a token's label wants
WIDTH = (4.2, 8.0)  # inches at least and at most


def draw(comparison: Comparison, chosen: Selection, palette: Palette) -> "Figure":
    """A row a feature and a column a token; with a B side by side A, B and B - A."""
    from matplotlib.figure import Figure

    found = find(comparison, chosen)
    assert found is not None  # without a dictionary nothing is offered
    active = activations(comparison, found.opened, found.layer, found.listed)
    errors = missed(comparison, found.opened, found.layer)
    width = min(WIDTH[1], max(WIDTH[0], PITCH * len(comparison.labels)))
    height = ROW * len(found.listed)
    figure = Figure(figsize=(width * len(active) + 0.4, height + 2.2), layout="constrained")
    grid = figure.subplots(2, len(active), squeeze=False, height_ratios=(height, 0.3))
    limit = largest(active[side].values.numpy() for side in comparison.sides)
    for column, side in enumerate(active):
        values, signed = active[side].values.numpy(), side == DIFFERENCE
        colours = Colours("change of activation" if signed else "activation", limit, signed, root=False)
        maps(figure, [(grid[0, column], values, colours)], palette)
        _rows(grid[0, column], found, width)
        name = "" if comparison.b is None else f"{side.replace('-', '−')}:  "
        grid[0, column].set_title(f"{name}features of {found.dictionary.hook_in}")
        share = errors[side].values.numpy()[None]
        colours = Colours("missed", max(1.0, largest([np.nan_to_num(share)])), signed, root=False)
        maps(figure, [(grid[1, column], share, colours)], palette)
        label_axis(grid[1, column], "x", comparison.labels, width)
        grid[1, column].set_yticks([0], ["missed"], fontsize=7)
    origin(figure, comparison, palette)
    return figure


def _rows(axes: "Axes", found: FeatureView, width: float) -> None:
    axes.set_yticks(range(len(found.listed)), [str(each) for each in found.listed], fontsize=7)
    label_axis(axes, "x", found.comparison.labels, width)
