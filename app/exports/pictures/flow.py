"""Information flow as a picture: tokens across, states of the stream upwards, dots joined by edges."""

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
LEAST_COLOUR = 0.22  # of the colour map, as on the page
THICKEST = 5.0  # points
BEND = 0.5  # how far an edge that stays at its position bends, to the left for attention, to the right for the MLP


def size(drawn: FlowGraph) -> tuple[float, float]:
    """Inches across and down."""
    return _width(drawn) + 1.0, len(drawn.states) * STATE + letters(drawn.labels) + 1.2


def _width(drawn: FlowGraph) -> float:
    return max(3.5, COLUMN * len(drawn.labels))


def draw(drawn: FlowGraph, figure: "SubFigure", palette: Palette) -> None:
    """Draw a dot a node and a line an edge; of a change, diamonds are nodes of one run alone."""
    axes, colours = figure.subplots(), _colours(palette, drawn.limit)
    _ground(axes, drawn, palette)
    limit = drawn.limit or 1.0
    for edge in sorted(drawn.edges, key=lambda edge: abs(edge.share)):
        _line(axes, edge, colours.to_rgba(np.array([edge.share]))[0], abs(edge.share) / limit)
    outline = palette.background if drawn.limit is None else palette.faded
    alone = [None in node.sides and drawn.limit is not None for node in drawn.nodes]
    for marker, of_one in (("o", False), ("D", True)):
        nodes = [node for node, single in zip(drawn.nodes, alone, strict=True) if single == of_one]
        if nodes:
            _dots(axes, nodes, marker, colours, outline)
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


def _ground(axes: "Axes", drawn: FlowGraph, palette: Palette) -> None:
    for depth in range(len(drawn.states)):
        axes.axhline(depth, color=palette.secondary, linewidth=0.6, zorder=0)
    label_axis(axes, "x", drawn.labels, _width(drawn))
    axes.set_xlim(-0.8, len(drawn.labels) - 0.2)
    axes.set_ylim(-0.5, len(drawn.states) - 0.5)
    axes.set_yticks(range(len(drawn.states)), drawn.states, fontsize=7)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _dots(axes: "Axes", nodes: list[GraphNode], marker: str, colours: "ScalarMappable", edge: str) -> None:
    axes.scatter(
        [node.position for node in nodes],
        [node.depth for node in nodes],
        s=38,
        marker=marker,
        color=colours.to_rgba(np.array([node.flow for node in nodes])),
        edgecolors=edge,
        linewidths=0.8,
        zorder=3,
    )


def _line(axes: "Axes", edge: GraphEdge, shade: Float[np.ndarray, " rgba"], size: float) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    aside = {"residual": 0.0, "attention": -BEND, "mlp": BEND}[edge.kind] if edge.source == edge.target else 0.0
    bent = Path(
        [
            (edge.source, edge.depth - 1),
            ((edge.source + edge.target) / 2 + aside, edge.depth - 0.5),
            (edge.target, edge.depth),
        ],
        [Path.MOVETO, Path.CURVE3, Path.CURVE3],
    )
    style = (0, (2, 1.2)) if edge.kind == "mlp" else "solid"
    width = 0.7 + (THICKEST - 0.7) * size
    axes.add_patch(PathPatch(bent, fill=False, linewidth=width, edgecolor=tuple(shade), linestyle=style, zorder=1))
