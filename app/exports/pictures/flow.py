"""Information flow as a picture: tokens across, states of the stream upwards, dots joined by edges."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from headlight.app.components import FlowGraph, GraphEdge, GraphNode
from headlight.app.exports.pictures.axes import colour_bar, label_axis, letters, scale, ticks
from headlight.app.exports.style import Palette, colour_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import SubFigure

COLUMN, STATE = 0.45, 0.42  # inches
EMPTY = 0.5  # of a column, that a position without a node has
LEAST_COLOUR = 0.22  # of the colour map, as on the page
THICKEST = 5.0  # points
BEND = 0.33  # of a column, how far an edge that stays at its position bends: to the left for attention, or the right


def size(drawn: FlowGraph) -> tuple[float, float]:
    """Inches across and down."""
    return _width(drawn) + 1.0, len(drawn.states) * STATE + letters(drawn.labels) + 1.2


def _width(drawn: FlowGraph) -> float:
    return max(3.5, COLUMN * sum(_widths(drawn)))


def _widths(drawn: FlowGraph) -> list[float]:
    """In columns, of every position."""
    taken = {node.position for node in drawn.nodes}
    return [1.0 if position in taken else EMPTY for position in range(len(drawn.labels))]


def _places(drawn: FlowGraph) -> list[float]:
    """Middle of every position, in columns from the middle of the first one, were that a whole one."""
    widths = _widths(drawn)
    return [sum(widths[:position]) + width / 2 - 0.5 for position, width in enumerate(widths)]


def draw(drawn: FlowGraph, figure: "SubFigure", palette: Palette) -> None:
    """Draw a dot a node and a line an edge; of a change, diamonds are nodes of one run alone."""
    axes, colours, places = figure.subplots(), _colours(palette, drawn.limit), _places(drawn)
    _ground(axes, drawn, palette, places)
    limit = drawn.limit or 1.0
    for edge in sorted(drawn.edges, key=lambda edge: abs(edge.share)):
        _line(axes, edge, places, colours.to_rgba(np.array([edge.share]))[0], abs(edge.share) / limit)
    outline = palette.background if drawn.limit is None else palette.faded
    alone = [None in node.sides and drawn.limit is not None for node in drawn.nodes]
    for marker, of_one in (("o", False), ("D", True)):
        nodes = [node for node, single in zip(drawn.nodes, alone, strict=True) if single == of_one]
        if nodes:
            _dots(axes, nodes, places, marker, colours, outline)
    axes.set_title(drawn.title, fontsize=9)
    change = "" if drawn.limit is None else "change of the "
    title = f"{change}share of its node (edge, at least {drawn.threshold:g}; dashed: MLP), of the start (node)"
    marks = [0, 0.01, 0.1, 0.25, 0.5, 1] if drawn.limit is None else ticks(limit, signed=True, root=True)
    colour_bar(figure, colours, [axes], title, marks, is_there=drawn.bar)


def _colours(palette: Palette, limit: float | None) -> "ScalarMappable":
    """The page's: by the square root, from a colour that is still to be seen; of changes, to both sides."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap

    whole, norm = colour_map(palette, limit is not None), scale(limit or 1.0, limit is not None, root=True)
    steps = np.linspace(0 if limit is None else -1, 1, 255)
    seen = np.sign(steps) * (LEAST_COLOUR + (1 - LEAST_COLOUR) * np.abs(steps))  # no change keeps the ground's colour
    places = LEAST_COLOUR + (1 - LEAST_COLOUR) * steps if limit is None else 0.5 + seen / 2
    return ScalarMappable(norm, LinearSegmentedColormap.from_list("flow", whole(places), N=255))


def _ground(axes: "Axes", drawn: FlowGraph, palette: Palette, places: Sequence[float]) -> None:
    for depth in range(len(drawn.states)):
        axes.axhline(depth, color=palette.secondary, linewidth=0.6, zorder=0)
    widths = _widths(drawn)
    label_axis(axes, "x", drawn.labels, _width(drawn) * min(widths) * len(widths) / sum(widths))
    named = [int(place) for place in axes.get_xticks()]
    texts = [label.get_text() for label in axes.get_xticklabels()]  # which matplotlib keeps by where they stand
    axes.set_xticks([places[place] for place in named], texts)
    for place, label in zip(named, axes.get_xticklabels(), strict=True):
        label.set_color(palette.text if widths[place] == 1 else palette.faded)
    axes.set_xlim(-0.8, sum(widths) - 0.2)
    axes.set_ylim(-0.5, len(drawn.states) - 0.5)
    axes.set_yticks(range(len(drawn.states)), drawn.states, fontsize=7)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _dots(
    axes: "Axes",
    nodes: list[GraphNode],
    places: Sequence[float],
    marker: str,
    colours: "ScalarMappable",
    edge: str,
) -> None:
    axes.scatter(
        [places[node.position] for node in nodes],
        [node.depth for node in nodes],
        s=38,
        marker=marker,
        color=colours.to_rgba(np.array([node.flow for node in nodes])),
        edgecolors=edge,
        linewidths=0.8,
        zorder=3,
    )


def _line(
    axes: "Axes", edge: GraphEdge, places: Sequence[float], shade: Float[np.ndarray, " rgba"], size: float
) -> None:
    """Draw a line that bends aside where it stays at its position, and else leaves and arrives upright."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    aside = {"residual": 0.0, "attention": -BEND, "mlp": BEND}[edge.kind] if edge.source == edge.target else 0.0
    begin, end, middle = places[edge.source], places[edge.target], edge.depth - 0.5
    bends = [(begin + aside, middle), (end + aside, middle)]
    bent = Path([(begin, edge.depth - 1), *bends, (end, edge.depth)], [Path.MOVETO, *[Path.CURVE4] * 3])
    style = (0, (2, 1.2)) if edge.kind == "mlp" else "solid"
    width = 0.7 + (THICKEST - 0.7) * size
    axes.add_patch(PathPatch(bent, fill=False, linewidth=width, edgecolor=tuple(shade), linestyle=style, zorder=1))
