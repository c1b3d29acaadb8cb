"""The picture of a circuit: its components by layer and head, and its edges, wide where their score is large."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headlight.app.figures.graph import Line, Mark, Scene
from headlight.app.parts.labels import number
from headlight.model.circuits.scoring import Method
from headlight.model.circuits.wiring import Receiver, Sender, Wiring

EMBEDDINGS, LOGITS = "embeddings", "logits"
WIDTHS = (0.8, 1.6, 2.8, 4.5)  # pixels, by quarters of the square root of an edge's share of the largest
OPACITIES = (0.25, 0.5, 0.75, 0.95)  # by quarters of how often an edge is in a resample's circuit
ABOVE_HEADS = 0.46  # of a row: where an MLP stands above the heads of its layer
MAX_LINES = 8  # edges in a tooltip
METHODS: dict[Method, str] = {
    "eap_ig_inputs": "EAP-IG, inputs",
    "eap_ig_activations": "EAP-IG, activations",
    "eap": "EAP",
    "clean_corrupted": "clean-corrupted",
    "exact": "exact patching",
    "flow": "information flow routes",
}


@dataclass(frozen=True)
class CircuitEdge:
    """An edge of a circuit: the names of its components, what the second reads, its score, and how sure it is."""

    source: str
    target: str
    read: str
    score: float
    sureness: float | None = None

    @property
    def entry(self) -> str:
        """What it leads into: a component, or a head's query, key or value."""
        return f"{self.target}.{self.read}" if self.read else self.target


def component_of(receiver: Receiver) -> str:
    """The component that a receiver is an input of."""
    return LOGITS if receiver.layer is None else Sender(receiver.layer, receiver.head).name


def components(edges: Sequence[CircuitEdge], wires: Wiring, sizes: Mapping[str, float] | None = None) -> list[str]:
    """The components that edges join or that have sizes, in the order of writing."""
    named = {*(sizes or ()), *(name for edge in edges for name in (edge.source, edge.target))}
    return [name for name in (*(sender.name for sender in wires.senders), LOGITS) if name in named]


def circuit_scene(
    edges: Sequence[CircuitEdge],
    wires: Wiring,
    chosen: str,
    title: str,
    sizes: Mapping[str, float] | None = None,
) -> Scene:
    """The components of a circuit in a row for each layer that has one, and its edges, or those of the chosen one.

    Edges with a positive score, which would raise the measured quantity if they were the baseline's, are orange.
    A circuit of components, and not of edges, has their `sizes`.
    """
    names, senders = components(edges, wires, sizes), {sender.name: sender for sender in wires.senders}
    heads = sorted({sender.head for name in names if (sender := senders.get(name)) and sender.head is not None})
    layers = sorted({sender.layer for name in names if (sender := senders.get(name)) and sender.layer is not None})
    has_mlps = any(name.endswith("MLP") for name in names)
    columns = ["", *(f"H{head}" for head in heads), *(["MLP"] if has_mlps else [])]
    rows = [EMBEDDINGS, *(f"L{layer}" for layer in layers), LOGITS]
    sums = {name: sum(abs(edge.score) for edge in edges if name in (edge.source, edge.target)) for name in names}
    sums |= sizes or {}
    largest = max(sums.values(), default=1.0) or 1.0

    def mark(name: str) -> Mark:
        sender, size = senders.get(name), (sums[name] / largest) ** 0.5
        lines, label = _tooltip(name, edges), "" if name in (EMBEDDINGS, LOGITS) else name
        if sender is None or sender.layer is None:
            return Mark("token" if name == EMBEDDINGS else "logit", 0, rows.index(name), size, 0, lines)
        row = 1 + layers.index(sender.layer)
        if sender.head is None:
            return Mark("neuron", len(columns) - 1, row + ABOVE_HEADS, size, 0, lines, label=label)
        return Mark("head", 1 + heads.index(sender.head), row, size, 0, lines, label=label)

    places = {name: place for place, name in enumerate(names)}
    at = places.get(chosen)
    most = max((abs(edge.score) for edge in edges), default=1.0) or 1.0
    lines = [_line(edge, places, most) for edge in edges]
    ours = [line for line in lines if at is None or at in (line.source, line.target)]
    return Scene([mark(name) for name in names], lines, ours, at, columns, rows, "head", title)


def _line(edge: CircuitEdge, places: dict[str, int], most: float) -> Line:
    width = WIDTHS[_quarter((abs(edge.score) / most) ** 0.5)]
    opacity = OPACITIES[-1 if edge.sureness is None else _quarter(edge.sureness)]
    return Line(places[edge.source], places[edge.target], 1 if edge.score <= 0 else -1, width, opacity)


def _quarter(share: float) -> int:
    return min(3, int(4 * share))


def _tooltip(name: str, edges: Sequence[CircuitEdge]) -> list[str]:
    """A component's name and the first of its edges."""
    own = [
        f"{edge.source} → {edge.entry}  {number(edge.score)}" for edge in edges if name in (edge.source, edge.target)
    ]
    more = [f"and {len(own) - MAX_LINES} more"] if len(own) > MAX_LINES else []
    return [name, *own[:MAX_LINES], *more]
