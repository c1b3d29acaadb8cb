"""The flow as a picture: tokens across, states of the stream upwards, dots joined by what flows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from headlight.app.exports.picture import colour_bar, label_axis, origin, scale, ticks
from headlight.app.exports.style import Palette, colour_map
from headlight.app.pages.flow.choices import Choices
from headlight.app.pages.flow.chosen import change_in
from headlight.app.pages.flow.exports import graphs
from headlight.app.pages.flow.graph import limit_of, states_of, visible_change
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.selection.chosen import Selection
from headlight.model.flow.change import EdgePair, FlowChange
from headlight.model.flow.information_flow import Edge, Place, state_names
from headlight.model.runs.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

COLUMN, STATE = 0.45, 0.42  # inches
FAINTEST = 0.22  # of the colour map, as on the page
THICKEST = 5.0  # points
BEND = 0.5  # how far an edge that stays at its position bends, to the left for attention, to the right for the MLP


def draw(comparison: Comparison, chosen: Selection, palette: Palette) -> "Figure":
    """The graph of A and, with a B, that of B beside it and the change below."""
    from matplotlib.figure import Figure

    found, change = graphs(comparison, chosen), change_in(comparison, chosen)
    widths = [_inches(comparison.sides[side].labels) for side in found]
    rows = 1 if change is None else 2
    height = max(len(state_names(comparison.sides[side].cfg)) for side in found) * STATE + 1.4
    width = min(40.0, max(sum(widths), 0.0 if change is None else _inches(comparison.labels)) + 1.2 * len(widths))
    figure = Figure(figsize=(width, rows * height), layout="constrained")
    grid = figure.add_gridspec(rows, len(found), width_ratios=widths)
    _runs(figure, [figure.add_subplot(grid[0, column]) for column in range(len(found))], comparison, chosen, palette)
    if change is not None:
        _change(figure, figure.add_subplot(grid[1, :]), comparison, change, palette)
    origin(figure, comparison, palette)
    return figure


def _inches(labels: Sequence[str]) -> float:
    return max(3.5, COLUMN * len(labels))


def _runs(
    figure: "Figure", axes: "Sequence[Axes]", comparison: Comparison, chosen: Selection, palette: Palette
) -> None:
    """Each run's graph, on one scale."""
    colours = _colours(palette)
    for each, (side, graph) in zip(axes, graphs(comparison, chosen).items(), strict=True):
        run = comparison.sides[side]
        _ground(each, run.labels, state_names(run.cfg), palette)
        _lines(each, [(edge, edge.share, edge.share) for edge in graph.edges], colours)
        _dots(each, [(node.place, node.flow) for node in graph.nodes], "o", colours, palette.background)
        start = f"what flows into {comparison.token_at(run, graph.start.position)}"
        each.set_title(f"{side}: {start}" if comparison.b is not None else start, fontsize=9)
    least = chosen.choices_of(Choices).flow_threshold
    title = f"share of its node (edge, at least {least:g}; dashed: MLP), of the start (node)"
    colour_bar(figure, colours, axes, title, (0, 0.01, 0.1, 0.25, 0.5, 1))


def _change(figure: "Figure", axes: "Axes", comparison: Comparison, change: FlowChange, palette: Palette) -> None:
    """What has changed, on a scale as far to the one side as to the other; diamonds are what one run alone has."""
    limit = limit_of(change)
    colours = _colours(palette, limit)
    _ground(axes, comparison.labels, states_of(comparison, change), palette)
    _lines(axes, [(edge, edge.change, abs(edge.change) / limit) for edge in change.changed], colours)
    for marker, both in (("o", True), ("D", False)):
        dots = [(pair.place, visible_change(pair)) for pair in change.nodes if bool(pair.a and pair.b) == both]
        _dots(axes, dots, marker, colours, palette.faded)
    axes.set_title(DIFFERENCE, fontsize=9)
    title = f"change of the share of its node (edge, at least {change.threshold:g}; dashed: MLP), of the start (node)"
    colour_bar(figure, colours, [axes], title, ticks(limit, signed=True, root=True))


def _colours(palette: Palette, limit: float | None = None) -> "ScalarMappable":
    """The page's: by the square root, from a colour that is still to be seen; of changes, to both sides."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap

    whole, norm = colour_map(palette, limit is not None), scale(limit or 1.0, limit is not None, root=True)
    steps = np.linspace(0 if limit is None else -1, 1, 255)
    seen = np.sign(steps) * (FAINTEST + (1 - FAINTEST) * np.abs(steps))  # no change keeps the ground's colour
    places = FAINTEST + (1 - FAINTEST) * steps if limit is None else 0.5 + seen / 2
    return ScalarMappable(norm, LinearSegmentedColormap.from_list("flow", whole(places), N=255))


def _ground(axes: "Axes", labels: Sequence[str], states: Sequence[str], palette: Palette) -> None:
    for depth in range(len(states)):
        axes.axhline(depth, color=palette.secondary, linewidth=0.6, zorder=0)
    label_axis(axes, "x", labels, _inches(labels))
    axes.set_xlim(-0.8, len(labels) - 0.2)
    axes.set_ylim(-0.5, len(states) - 0.5)
    axes.set_yticks(range(len(states)), states, fontsize=7)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _lines(axes: "Axes", edges: Sequence[tuple[Edge | EdgePair, float, float]], colours: "ScalarMappable") -> None:
    """Edges with their values and their sizes from 0 to 1, the smallest first."""
    for edge, value, size in sorted(edges, key=lambda each: each[2]):
        _line(axes, edge, colours.to_rgba(np.array([value]))[0], size)


def _dots(
    axes: "Axes", places: Sequence[tuple[Place, float]], marker: str, colours: "ScalarMappable", edge: str
) -> None:
    axes.scatter(
        [place.position for place, _ in places],
        [place.depth for place, _ in places],
        s=38,
        marker=marker,
        color=colours.to_rgba(np.array([value for _, value in places])),
        edgecolors=edge,
        linewidths=0.8,
        zorder=3,
    )


def _line(axes: "Axes", edge: Edge | EdgePair, shade: Float[np.ndarray, " rgba"], size: float) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    (depth, source), (up, target) = edge.source, edge.target
    aside = {"residual": 0.0, "attention": -BEND, "mlp": BEND}[edge.kind] if source == target else 0.0
    bent = Path(
        [(source, depth), ((source + target) / 2 + aside, (depth + up) / 2), (target, up)],
        [Path.MOVETO, Path.CURVE3, Path.CURVE3],
    )
    style = (0, (2, 1.2)) if edge.kind == "mlp" else "solid"
    width = 0.7 + (THICKEST - 0.7) * size
    axes.add_patch(PathPatch(bent, fill=False, linewidth=width, edgecolor=tuple(shade), linestyle=style, zorder=1))
