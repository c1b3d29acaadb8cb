"""Information flow: the graph of the nodes and edges from which a token's last state was computed.

Source: Ferrando and Voita 2024, "Information Flow Routes: Automatically Interpreting Language Models at Scale".
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from headlight.model.base.errors import InputError
from headlight.model.flow.shares import Heads, Incoming, Kind, Summands, into_mid, into_post
from headlight.model.nn.config import TransformerConfig


class Place(NamedTuple):
    """A node's place: `depth` 0 is the embedding, and each layer adds one or two (`states`)."""

    depth: int
    position: int


def state_names(cfg: TransformerConfig) -> tuple[str, ...]:
    """Names of the depths: the embedding, then after each layer's attention and after its MLP, or after both."""
    parts = ("",) if cfg.states == 1 else (" attention", " MLP")
    return "embed", *(f"L{layer}{part}" for layer in range(cfg.n_layers) for part in parts)


@dataclass(frozen=True)
class Node:
    """A node that the start depends on: its share of the start, and the part of it that comes from no other node.

    `bias` and `rest` are shares of the node. `flow` is the sum over all ways from the start, along edges that are kept,
    of the product of their shares; the start's is 1.
    """

    place: Place
    flow: float
    bias: float
    rest: float


@dataclass(frozen=True)
class Edge:
    """An edge from a lower node: its share of the target, and for attention each head's, largest first."""

    source: Place
    target: Place
    kind: Kind
    share: float
    heads: Heads = ()


@dataclass(frozen=True)
class Flow:
    """The nodes and edges above a threshold by which a start is reached, from the start down.

    With a threshold of 0 it has all that has any share: every node's incoming edges, its bias and its rest sum to 1.
    """

    start: Place
    threshold: float
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    @property
    def traced(self) -> float:
        """Share of the start that is traced to the embeddings; the rest is in biases and omitted edges."""
        return sum(node.flow for node in self.nodes if node.place.depth == 0)


Supply = Callable[[int, list[int]], Summands]


def check_threshold(threshold: float) -> None:
    """Refuse a threshold that is not a share.

    Raises:
        InputError: it is below 0 or above 1.
    """
    if not 0 <= threshold <= 1:
        raise InputError(f"The threshold is {threshold}; it is a share of a node: give 0 to 1.")


def flow(supply: Supply, n_layers: int, states: int, start: int, threshold: float) -> Flow:
    """Flow graph of the stream after `n_layers` layers of 1 or 2 `states` each at position `start`.

    An edge is kept where its share of its target is at least `threshold`; an attention edge's share is the sum of its
    heads'. `supply(layer, positions)` gives what a layer adds up at these positions, in this order; it is called from
    the last layer down, once a layer, and only for positions that were reached.

    Raises:
        InputError: the threshold is no share, or there is no layer.
    """
    check_threshold(threshold)
    if n_layers < 1:
        raise InputError(f"n_layers is {n_layers}; nothing flows before the first layer: give at least 1.")
    depth = states * n_layers
    walk = _Walk(threshold, depth, {start: 1.0})
    for layer in reversed(range(n_layers)):
        positions = sorted(walk.arriving)
        if positions:
            summed = supply(layer, positions)
            if states > 1:
                walk.down(into_post(summed, positions))
            walk.down(into_mid(summed, positions))
    walk.end()
    return Flow(Place(depth, start), threshold, tuple(walk.nodes), tuple(walk.edges))


@dataclass
class _Walk:
    """Goes down state by state; `arriving` is how much of the start comes through each position of the present one."""

    threshold: float
    depth: int
    arriving: dict[int, float]
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def down(self, into: dict[int, Incoming]) -> None:
        """To the next state below; positions at which nothing arrives are left out."""
        below: dict[int, float] = {}
        for position, incoming in into.items():
            if position in self.arriving:
                target, here = Place(self.depth, position), self.arriving[position]
                self.nodes.append(Node(target, here, incoming.bias, incoming.rest))
                for kind, source, share, heads in incoming.taken:
                    if share > 0 and share >= self.threshold:
                        self.edges.append(Edge(Place(self.depth - 1, source), target, kind, share, heads))
                        below[source] = below.get(source, 0.0) + here * share
        self.arriving, self.depth = below, self.depth - 1

    def end(self) -> None:
        """The nodes at which the ways end."""
        self.nodes += [Node(Place(self.depth, at), here, 0.0, 0.0) for at, here in sorted(self.arriving.items())]
