"""Difference between the information flow of two runs: the nodes and edges of both, and the changes.

Nodes of the two runs belong together where their tokens do: both runs' positions are laid on the places of a common
axis. An edge is followed, in both runs, where it is at least the threshold in one of them, so that what flows through a
node differs because of the shares and not because of what a threshold has cut off in one run alone. Shares into a node
sum to 1 in each run: their changes, biases and rests included, sum to 0.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from headlight.model.base.errors import InputError
from headlight.model.flow.information_flow import Node, Place, Supply, check_threshold
from headlight.model.flow.shares import Heads, Incoming, Kind, into_mid, into_post
from headlight.model.measure.alignment import Alignment, Positions
from headlight.model.nn.config import TransformerConfig


@dataclass(frozen=True, eq=False)
class FlowOf:
    """Inputs of `flow` for one of the two runs."""

    supply: Supply
    n_layers: int


@dataclass(frozen=True)
class NodePair:
    """A node in A and in B; None in a run that has no such token or state. Positions are places of the common axis."""

    place: Place
    a: Node | None
    b: Node | None

    @property
    def change(self) -> float:
        """Share of B's start that passes through it minus A's; 0 for a run that lacks it."""
        return (self.b.flow if self.b else 0.0) - (self.a.flow if self.a else 0.0)


@dataclass(frozen=True)
class EdgePair:
    """An edge in A and in B: its shares of the target, and for attention each head's, by head.

    A run that has the target and lacks the source takes nothing from it.
    """

    source: Place
    target: Place
    kind: Kind
    a: float
    b: float
    heads_a: Mapping[int, float]
    heads_b: Mapping[int, float]

    @property
    def change(self) -> float:
        """Share of the target in B minus that in A."""
        return self.b - self.a

    @property
    def heads(self) -> tuple[tuple[int, float, float], ...]:
        """Each head's share in A and in B, by size of the change."""
        pairs = [
            (head, self.heads_a.get(head, 0.0), self.heads_b.get(head, 0.0))
            for head in sorted(self.heads_a.keys() | self.heads_b.keys())
        ]
        return tuple(sorted(pairs, key=lambda pair: -abs(pair[2] - pair[1])))


@dataclass(frozen=True)
class FlowChange:
    """Nodes that either start depends on, and the edges into those in both runs, from the start down."""

    start: Place
    threshold: float
    nodes: tuple[NodePair, ...]
    edges: tuple[EdgePair, ...]

    @property
    def changed(self) -> tuple[EdgePair, ...]:
        """The edges that have changed by the threshold or more."""
        return tuple(edge for edge in self.edges if edge.change and abs(edge.change) >= self.threshold)


def lacks_change(a: TransformerConfig, b: TransformerConfig) -> str:
    """Why the states of A are not those of B, where they are not."""
    if a.states == b.states:
        return ""
    without, cfg = ("A", a) if a.states == 1 else ("B", b)
    why = "has no MLPs" if cfg.attn_only else "adds its MLPs beside attention"
    return f"{without} {why} and the other has two states a layer, which are not the same ones: there is no B − A."


def flow_change(a: FlowOf, b: FlowOf, alignment: Alignment, states: int, start: int, threshold: float) -> FlowChange:
    """Compare the information flow into the last state at a place in two runs.

    An edge is kept if it reaches the threshold in either run.
    Of runs with different numbers of layers, the states that both have are compared.

    Raises:
        InputError: the threshold is no share, there is no layer, or one of the runs has no token at the start.
    """
    check_threshold(threshold)
    sides = _Side(a, alignment.a, states), _Side(b, alignment.b, states)
    if min(a.n_layers, b.n_layers) < 1:
        raise InputError("Nothing flows before the first layer: both runs need at least one.")
    if not all(side.has(start) for side in sides):
        raise InputError(f"One of the runs has no token at place {start}: start from a token that both have.")
    walk = _Walk(threshold, min(side.depth for side in sides))
    for depth in range(max(side.depth for side in sides), 0, -1):
        for side in sides:
            side.arrive(depth, start)
        walk.down(depth, *sides)
    walk.end(*sides)
    return FlowChange(Place(walk.top, start), threshold, tuple(walk.nodes), tuple(walk.edges))


class _Side:
    """One run on its way down: how much of its start comes through each place of the present state."""

    def __init__(self, run: FlowOf, positions: Positions, states: int) -> None:
        self.run, self.positions, self.states = run, positions, states
        self.places = {position: place for place, position in enumerate(positions) if position is not None}
        self.depth = self.states * run.n_layers
        self.arriving: dict[int, float] = {}

    def has(self, place: int) -> bool:
        return self.positions[place] is not None

    def arrive(self, depth: int, start: int) -> None:
        """Begin, at the last state."""
        if depth == self.depth:
            self.arriving = {start: 1.0}

    def into(self, depth: int, places: list[int]) -> dict[int, Incoming]:
        """Incoming edges of the nodes at these places, by place; none where the run lacks the place."""
        positions = [position for place in places if (position := self.positions[place]) is not None]
        if depth > self.depth or not positions:
            return {}
        layer, part = divmod(depth - 1, self.states)
        into = into_post if part else into_mid
        supply = into(self.run.supply(layer, positions), positions)
        return {self.places[position]: self._placed(incoming) for position, incoming in supply.items()}

    def _placed(self, incoming: Incoming) -> Incoming:
        taken = tuple((kind, self.places[at], share, heads) for kind, at, share, heads in incoming.taken)
        return incoming._replace(taken=taken)


Ends = tuple[Kind, int]
Share = tuple[float, Heads]
NOTHING: Share = (0.0, ())


@dataclass
class _Walk:
    """Goes down state by state, in both runs at once; what is above `top`, in the deeper one alone, is not noted."""

    threshold: float
    top: int
    nodes: list[NodePair] = field(default_factory=list)
    edges: list[EdgePair] = field(default_factory=list)

    def down(self, depth: int, a: _Side, b: _Side) -> None:
        """Record the nodes of a state, and follow their inputs."""
        places = sorted(a.arriving.keys() | b.arriving.keys())
        into_a, into_b = a.into(depth, places), b.into(depth, places)
        below: tuple[dict[int, float], dict[int, float]] = ({}, {})
        for place in places:
            pair = into_a.get(place), into_b.get(place)
            here = a.arriving.get(place, 0.0), b.arriving.get(place, 0.0)
            if depth <= self.top:
                self._node(Place(depth, place), here, pair)
            for (kind, source), (of_a, of_b) in self._followed(*pair):
                for side, arriving, share, of_start in zip((a, b), below, (of_a[0], of_b[0]), here, strict=True):
                    if side.has(source) and depth <= side.depth:
                        arriving[source] = arriving.get(source, 0.0) + of_start * share
                if None not in pair:
                    ends = Place(depth - 1, source), Place(depth, place)
                    self.edges.append(EdgePair(*ends, kind, of_a[0], of_b[0], dict(of_a[1]), dict(of_b[1])))
        a.arriving, b.arriving = below

    def _followed(self, a: Incoming | None, b: Incoming | None) -> Iterator[tuple[Ends, tuple[Share, Share]]]:
        """The edges that are large enough in one of the runs."""
        of_a, of_b = (
            {(kind, source): (share, heads) for kind, source, share, heads in (into.taken if into else ())}
            for into in (a, b)
        )
        for ends in dict.fromkeys([*of_a, *of_b]):
            shares = of_a.get(ends, NOTHING), of_b.get(ends, NOTHING)
            if max(share for share, _ in shares) >= self.threshold and any(share > 0 for share, _ in shares):
                yield ends, shares

    def _node(self, place: Place, here: tuple[float, float], into: tuple[Incoming | None, Incoming | None]) -> None:
        a, b = (
            None if each is None else Node(place, flow, each.bias, each.rest)
            for flow, each in zip(here, into, strict=True)
        )
        self.nodes.append(NodePair(place, a, b))

    def end(self, a: _Side, b: _Side) -> None:
        """The nodes at which the ways end."""
        for place in sorted(a.arriving.keys() | b.arriving.keys()):
            nodes = (
                Node(Place(0, place), side.arriving.get(place, 0.0), 0.0, 0.0) if side.has(place) else None
                for side in (a, b)
            )
            self.nodes.append(NodePair(Place(0, place), *nodes))
