"""The graph as a plot: layers upwards, positions across, nodes by influence, the edges of the chosen one."""

import torch

from headlight.app.figures.graph import Line, Mark, Scene
from headlight.app.figures.text import token_name
from headlight.app.pages.graph import circuit
from headlight.app.pages.graph.choices import Choices
from headlight.app.pages.graph.graph_view import GraphView, sides_of
from headlight.app.parts.labels import number
from headlight.app.parts.sides import DIFFERENCE, side_of
from headlight.app.selection.chosen import Selection
from headlight.model.graph.graph import UNEXPLAINED, Node
from headlight.model.runs.comparison import Comparison

NAMED = 40  # nodes at most, the most influential, that have their names beside them where there is room
SHADES = 6  # of an edge's width and opacity
FAINT_LINES = 150  # the strongest edges, drawn beneath those of the chosen node


def rows_of(view: GraphView) -> list[str]:
    """The rows from the bottom up: tokens, each layer's heads and MLP that a node is in, and the target."""
    has_heads = not view.graph.folded or any("heads" in node.kind for node in view.graph.nodes)
    has_units = any(node.kind not in ("token", "head", "heads left out", "logit") for node in view.graph.nodes)
    parts = [name for name, there in (("heads", has_heads), ("MLP", has_units)) if there] or ["heads"]
    rows = ["tokens", *(f"L{layer} {part}" for layer in range(view.n_layers) for part in parts), "target"]
    filled = {row_of(view.graph.nodes[place], rows) for place in view.kept} | {0, len(rows) - 1}
    return [name for row, name in enumerate(rows) if row in filled]


def row_of(node: Node, rows: list[str]) -> int:
    """The row of a node."""
    if node.kind in ("token", "logit"):
        return 0 if node.kind == "token" else len(rows) - 1
    part = "heads" if node.kind in ("head", "heads left out") else "MLP"
    name = f"L{node.layer} {part}"
    return rows.index(name) if name in rows else rows.index(f"L{node.layer} heads")


def _name(view: GraphView, place: int) -> str:
    """A node's name in short: its token's, or its own."""
    node = view.graph.nodes[place]
    token = token_name(view.graph.tokens[node.position], node.position)
    return token if node.kind == "token" else view.name(node)


def scene_of(view: GraphView, title: str = "") -> Scene:
    """The nodes that are kept, the strongest edges between them, and all edges of the chosen one."""
    flows, slots = view.graph.flows, {place: slot for slot, place in enumerate(view.kept)}
    ends = [
        (row, source)
        for row, source in view.pruned.edges.nonzero().tolist()
        if view.chosen in (row, source) and row in slots and source in slots
    ]
    most = max((abs(float(flows[each])) for each in ends), default=1.0) or 1.0
    lines = [_line(slots[source], slots[row], float(flows[row, source]), most) for row, source in ends]
    return Scene(
        marks_of(view),
        strongest(view, slots),
        lines,
        slots.get(view.chosen),
        view.graph.tokens[: 1 + max(node.position for node in view.graph.nodes)],
        rows_of(view),
        "token",
        title,
    )


def _line(source: int, target: int, flow: float, most: float) -> Line:
    """An edge, wider and stronger the more flows, in a few shades."""
    share = round(SHADES * abs(flow) / most) / SHADES
    return Line(source, target, 1 if flow > 0 else -1, 0.6 + 3 * share, round(0.25 + 0.65 * share, 3))


def marks_of(view: GraphView) -> list[Mark]:
    """The nodes that are kept, most influential first, of which the first have their names beside them."""
    rows = rows_of(view)
    largest = max((float(view.pruned.influence[place]) for place in view.kept), default=0.0) or 1.0
    nodes = view.graph.nodes
    named = [place for place in view.kept if nodes[place].kind not in ("logit", *UNEXPLAINED)][:NAMED]
    return [_mark(view, place, rows, largest, place in named) for place in view.kept]


def _mark(view: GraphView, place: int, rows: list[str], largest: float, is_named: bool) -> Mark:
    node, share = view.graph.nodes[place], float(view.pruned.influence[place])
    effect = float(view.graph.effects[place])
    lines = [view.called(place), f"effect on the target {number(effect)} logits", f"influence {share:.3f}"]
    if node.kind in ("neuron", "feature"):
        lines.insert(1, f"activation {number(float(view.graph.activations[place]))}")
    size = 1.0 if node.kind == "logit" else (share / largest) ** 0.5
    sign = 0 if effect == 0 else 1 if effect > 0 else -1
    is_rest, label = node.kind in UNEXPLAINED, _name(view, place) if is_named else ""
    return Mark(node.kind, node.position, row_of(node, rows), min(size, 1.0), sign, lines, is_rest, label)


def strongest(view: GraphView, slots: dict[int, int]) -> list[Line]:
    """The strongest edges between the nodes that are kept, by these nodes' slots."""
    sizes = (view.graph.flows.abs() * view.pruned.edges).flatten()
    order = sizes.topk(min(FAINT_LINES, int((sizes > 0).sum()))).indices
    width = view.graph.edges.shape[1]
    ends = torch.stack([order // width, order % width], 1).tolist()
    return [Line(slots[source], slots[row], 0) for row, source in ends if row in slots and source in slots]


def scenes(comparison: Comparison, chosen: Selection) -> list[Scene]:
    """The graph of each run that is looked at, or the circuit between them."""
    if chosen.choices_of(Choices).graph_mode == "circuit":
        return [circuit.scene_of(circuit.find(comparison, chosen))]
    side = side_of(comparison, chosen)
    return [
        scene_of(view, _titled(view, name if comparison.b is not None else ""))
        for name, view in sides_of(comparison, chosen).items()
        if side in (name, DIFFERENCE)
    ]


def _titled(view: GraphView, side: str) -> str:
    kept = f"{view.graph.target_name}: {view.pruned.node_share:.0%} of the influence"
    return f"{side}: {kept}" if side else kept
