"""Information flow into a token's last state, as a graph over tokens (across) and states of the stream (upwards).

It is one run's graph, or the change from A to B: then shares are signed, and what they are in A and in B stands beside.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np

from headlight.app.components.shared.mount import component_value, mount, register

Sides = tuple[float | None, float | None]  # in A and in B; None where one lacks it
NO_SIDES: Sides = (None, None)

_render = register(__file__)


@dataclass(frozen=True)
class GraphNode:
    """State at one position: the share of the start that passes through it, and the part from no other node."""

    depth: int
    position: int
    flow: float
    bias: float = 0.0
    rest: float = 0.0
    sides: Sides = NO_SIDES


@dataclass(frozen=True)
class GraphEdge:
    """Edge from a position one state below to a position: its share of the target, and its heads, in words.

    `kind` is "residual", "attention" or "mlp"; only attention changes the position.
    """

    depth: int
    source: int
    target: int
    kind: str
    share: float
    carried: str = ""
    sides: Sides = NO_SIDES


class FlowChoice(NamedTuple):
    """Start position, and the choice: a node (depth, position), an edge, or nothing.

    An edge is the depth of its target, the target's position and the source's.
    """

    start: int
    chosen: tuple[int, ...] = ()


def flow_choice(before: FlowChoice, epoch: int, key: str) -> FlowChoice:
    """Value that the component will return when it is drawn next."""
    start, *chosen = component_value(key, epoch, [before.start, *before.chosen])
    return FlowChoice(start, tuple(chosen))


@dataclass(frozen=True, eq=False)
class FlowGraph:
    """Flow into a token's last state: its states as `nodes`, and the shares between them as `edges`.

    `labels` are the input tokens, numbered by their `places`, or from 0 where there are none, and `states` the names of
    the depths, lowest first. With a `limit` shares are changes from -limit to limit, and `presence` says of each token
    whether A or B alone has it. The `prediction` stands over the start. Without a `bar` the colours are those of the
    graph beside it, which says what they mean.
    """

    nodes: Sequence[GraphNode]
    edges: Sequence[GraphEdge]
    _: KW_ONLY
    labels: Sequence[str]
    states: Sequence[str]
    threshold: float
    places: Sequence[int] = ()
    limit: float | None = None
    presence: Sequence[str] = ()
    title: str = ""
    bar: bool = True
    prediction: str = ""


def flow_graph(drawn: FlowGraph, *, choice: FlowChoice, startable: bool = True, epoch: int = 0, key: str) -> FlowChoice:
    """Show the nodes as dots and the edges as lines; returns the user's choice.

    Where it is `startable`, a click on a dot of the top row starts from there. `choice` counts when `epoch` is new,
    afterwards what the user does.
    """
    nodes, edges = drawn.nodes, drawn.edges
    value = mount(
        _render,
        key=key,
        props={
            "labels": list(drawn.labels),
            "places": list(drawn.places or range(len(drawn.labels))),
            "states": list(drawn.states),
            "threshold": drawn.threshold,
            "title": drawn.title,
            "bar": drawn.bar,
            "limit": drawn.limit,
            "presence": list(drawn.presence) or ["both"] * len(drawn.labels),
            "startable": startable,
            "prediction": drawn.prediction,
            "kinds": [edge.kind for edge in edges],
            "carried": [edge.carried for edge in edges],
        },
        arrays={
            "nodes": np.array([[node.depth, node.position] for node in nodes], np.int32).reshape(-1, 2),
            "numbers": np.array([[node.flow, node.bias, node.rest] for node in nodes], np.float32).reshape(-1, 3),
            "edges": np.array([[edge.depth, edge.target, edge.source] for edge in edges], np.int32).reshape(-1, 3),
            "shares": np.array([edge.share for edge in edges], np.float32),
            "nodeSides": np.array([node.sides for node in nodes], np.float32).reshape(-1, 2),
            "edgeSides": np.array([edge.sides for edge in edges], np.float32).reshape(-1, 2),
        },
        value=[choice.start, *choice.chosen],
        epoch=epoch,
    )
    return FlowChoice(value[0], tuple(value[1:]))
