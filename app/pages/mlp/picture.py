"""The first neurons as bars, and the chosen one's activation over the prompt under them."""

from typing import TYPE_CHECKING

import numpy as np

from headlight.app.exports.picture import Colours, label_axis, largest, maps, origin
from headlight.app.exports.style import Palette
from headlight.app.pages.mlp.charts import neurons
from headlight.app.pages.mlp.neuron_view import NeuronView, find
from headlight.app.parts.pair import said_of_cap
from headlight.app.selection.chosen import Selection
from headlight.model.measure.difference import DIFFERENCE
from headlight.model.neurons.tables import strip_of
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import neuron_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW, PITCH = 0.19, 0.14  # inches: of a neuron's bar, and what a token's label wants
WIDTH = (5.2, 9.0)  # inches at least and at most


def draw(comparison: Comparison, chosen: Selection, palette: Palette) -> "Figure":
    """A bar for each neuron, and a line of tokens for each run."""
    from matplotlib.figure import Figure

    found = find(comparison, chosen)
    strip = strip_of(comparison, found.neuron)
    plot, width = neurons(found), min(WIDTH[1], max(WIDTH[0], PITCH * len(comparison.labels)))
    height = ROW * len(plot.y.labels or ())
    figure = Figure(figsize=(width, height + 1.9 + 0.2 * len(strip)), layout="constrained")
    bars, line = figure.subplots(2, 1, height_ratios=(height, 0.25 * len(strip) + 0.1))
    _bars(bars, found, palette)
    limit = largest(strip[side].values.numpy() for side in strip)
    values = np.stack([measure.values.numpy() for measure in strip.values()])
    maps(
        figure,
        [(line, values, Colours(f"activation of {neuron_name(found.neuron)}", limit, True, root=False))],
        palette,
    )
    line.set_yticks(range(len(strip)), [side.replace("-", "−") if comparison.b else "" for side in strip], fontsize=7)
    label_axis(line, "x", comparison.labels, width)
    origin(figure, comparison, palette, said_of_cap(comparison.runs))
    return figure


def _bars(axes: "Axes", found: NeuronView, palette: Palette) -> None:
    plot = neurons(found)
    bars = [trace for trace in plot.traces if trace.get("type") == "bar"]
    height = 0.8 / len(bars)
    for slot, trace in enumerate(bars):
        at = np.arange(len(trace["x"])) + height * (slot - (len(bars) - 1) / 2)
        colours = [palette.bars[0] if size >= 0 else palette.bars[1] for size in trace["x"]]
        axes.barh(at, trace["x"], height, color=colours, alpha=0.5 if slot < len(bars) - 1 else 1.0)
    axes.set_yticks(range(len(plot.y.labels or ())), list(plot.y.labels or ()), fontsize=7)
    axes.invert_yaxis()
    axes.axvline(0, color=palette.border, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(plot.x.title, fontsize=8)
    axes.set_title(plot.title.replace(DIFFERENCE, "B − A"))
