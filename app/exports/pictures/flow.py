"""The flow as a picture: tokens across, states of the stream upwards, dots joined by what flows."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from app.exports.numbers.flow import graphs
from app.exports.pictures.parts import colour_bar, label_axis, origin
from app.exports.pictures.style import Palette
from app.flow import state_names
from app.run import Run
from app.selection.chosen import Selection
from app.shown import Shown
from model.analysis.flow import Edge, Flow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

COLUMN, STATE = 0.45, 0.42  # inches
FAINTEST = 0.22  # of the colour map, as on the page
THICKEST = 5.0  # points
BEND = 0.5  # how far an edge that stays at its position bends, to the left for attention, to the right for the MLP


def draw(shown: Shown, chosen: Selection, palette: Palette) -> "Figure":
    """The graph of A and, with a B, that of B beside it."""
    from matplotlib.figure import Figure

    found, colours = graphs(shown, chosen), _colours(palette)
    widths = [max(3.5, COLUMN * len(shown.sides[side].labels)) for side in found]
    height = max(len(state_names(shown.sides[side])) for side in found) * STATE + 1.4
    figure = Figure(figsize=(min(40.0, sum(widths) + 1.2 * len(widths)), height), layout="constrained")
    grid = figure.subplots(1, len(found), width_ratios=widths, squeeze=False)
    for axes, (side, graph) in zip(grid[0], found.items(), strict=True):
        run = shown.sides[side]
        _graph(axes, run, graph, colours, palette)
        start = f"what flows into {graph.start.position} {run.labels[graph.start.position]}"
        axes.set_title(f"{side}: {start}" if shown.b is not None else start, fontsize=9)
        label_axis(axes, "x", run.labels, max(3.5, COLUMN * len(run.labels)))
    title = f"share of its node (line, at least {chosen.flow_threshold:g}; dashed: MLP), of the start (dot)"
    colour_bar(figure, colours, list(grid[0]), title, (0, 0.01, 0.1, 0.25, 0.5, 1))
    origin(figure, shown, palette)
    return figure


def _colours(palette: Palette) -> "ScalarMappable":
    """The page's: by the square root, from a colour that is still to be seen."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm

    whole = palette.colours(signed=False)
    seen = [whole(FAINTEST + (1 - FAINTEST) * step / 255) for step in range(256)]
    return ScalarMappable(PowerNorm(0.5, 0, 1), LinearSegmentedColormap.from_list("flow", seen))


def _graph(axes: "Axes", run: Run, graph: Flow, colours: "ScalarMappable", palette: Palette) -> None:
    names = state_names(run)
    for depth in range(len(names)):
        axes.axhline(depth, color=palette.secondary, linewidth=0.6, zorder=0)
    shades = colours.to_rgba(np.array([edge.share for edge in graph.edges]))
    for edge, shade in reversed(list(zip(graph.edges, shades, strict=True))):
        _line(axes, edge, shade)
    places = [node.place for node in graph.nodes]
    axes.scatter(
        [place.position for place in places],
        [place.depth for place in places],
        s=38,
        color=colours.to_rgba(np.array([node.flow for node in graph.nodes])),
        edgecolors=palette.background,
        linewidths=0.8,
        zorder=3,
    )
    axes.set_xlim(-0.8, len(run.labels) - 0.2)
    axes.set_ylim(-0.5, len(names) - 0.5)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _line(axes: "Axes", edge: Edge, shade: Float[np.ndarray, " rgba"]) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    (depth, source), (up, target) = edge.source, edge.target
    aside = {"residual": 0.0, "attention": -BEND, "mlp": BEND}[edge.kind] if source == target else 0.0
    bent = Path(
        [(source, depth), ((source + target) / 2 + aside, (depth + up) / 2), (target, up)],
        [Path.MOVETO, Path.CURVE3, Path.CURVE3],
    )
    style = (0, (2, 1.2)) if edge.kind == "mlp" else "solid"
    width = 0.7 + (THICKEST - 0.7) * edge.share
    axes.add_patch(PathPatch(bent, fill=False, linewidth=width, edgecolor=tuple(shade), linestyle=style, zorder=1))
