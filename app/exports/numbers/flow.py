"""The flow page in numbers: nodes, edges and heads of each run's graph, and what of them changes from A to B."""

import torch

from app.csv_files import Cell
from app.exports.numbers.data import Data, Table
from app.exports.numbers.residual import positions_of
from app.exports.numbers.sides import columns, tokens_table
from app.flow import state_names
from app.run import Run
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.flows.chosen import change_in, found_in, start_of
from app.views.sides import positions_at
from model.analysis import Measure
from model.analysis.flow import Flow
from model.analysis.flow_change import FlowChange

NODES = ("run", "state", "place", "share of the start", "from the bias", "from edits")
EDGES = ("run", "into", "at place", "by", "from place", "share of the node")
HEADS = ("run", "into", "at place", "from place", "head", "share of the node")
SIDES = ("A", "B", "B - A")
CHANGED_NODES = ("state", "place", *(f"share of the start, {side}" for side in SIDES))
CHANGED_EDGES = ("into", "at place", "by", "from place", *(f"share of the node, {side}" for side in SIDES))
CHANGED_HEADS = ("into", "at place", "from place", "head", *(f"share of the node, {side}" for side in SIDES))


def graphs(shown: Shown, chosen: Selection) -> dict[str, Flow]:
    """The graph of each run that has the start."""
    return {side: found_in(shown, side, chosen) for side in positions_at(shown, start_of(shown, chosen))}


def data(shown: Shown, chosen: Selection) -> Data:
    """One row a node, an edge, and a head of an attention edge, from the start down; with a B also of the change.

    The change has all edges that are large enough in A or in B, so that what the page leaves out of them is there too.
    """
    found, change = graphs(shown, chosen), change_in(shown, chosen)
    rows: list[list[tuple[Cell, ...]]] = [[], [], []]
    for side, graph in found.items():
        for table, more in zip(rows, _rows(shown, side, graph), strict=True):
            table += more
    tables: dict[str, Table] = {
        "tokens": tokens_table({side: run.labels for side, run in shown.sides.items()}, positions_of(shown)),
        **{name: columns(heading, table) for name, heading, table in zip(NAMES, HEADINGS, rows, strict=True)},
    }
    arrays = {f"{side} {name}": measure for side, graph in found.items() for name, measure in _arrays(graph).items()}
    if change is not None:
        tables |= _changes(shown, change)
        arrays |= _changed_arrays(change)
    shows = {"start": start_of(shown, chosen), "threshold (share of a node)": chosen.flow_threshold}
    return Data("flow", shows, tables, arrays)


NAMES = ("nodes", "edges", "heads")
HEADINGS = (NODES, EDGES, HEADS)


def _rows(shown: Shown, side: str, graph: Flow) -> tuple[list[tuple[Cell, ...]], ...]:
    run: Run = shown.sides[side]
    names, place = state_names(run), list(shown.positions(run)).index
    nodes: list[tuple[Cell, ...]] = [
        (side, names[node.place.depth], place(node.place.position), node.flow, node.bias, node.rest)
        for node in graph.nodes
    ]
    edges, heads = list[tuple[Cell, ...]](), list[tuple[Cell, ...]]()
    for edge in graph.edges:
        into, at, source = names[edge.target.depth], place(edge.target.position), place(edge.source.position)
        edges.append((side, into, at, edge.kind, source, edge.share))
        heads += [(side, into, at, source, head, share) for head, share in sorted(edge.heads)]
    return nodes, edges, heads


def _arrays(graph: Flow) -> dict[str, Measure]:
    nodes = torch.tensor([node.flow for node in graph.nodes])
    edges = torch.tensor([edge.share for edge in graph.edges])
    return {
        "nodes": Measure("share of the start", "share", ("node",), nodes),
        "edges": Measure("share of the node", "share", ("edge",), edges),
    }


def _changes(shown: Shown, change: FlowChange) -> dict[str, Table]:
    names, of_heads = state_names(shown.a), list[tuple[Cell, ...]]()
    nodes: list[tuple[Cell, ...]] = [
        (names[depth], place, pair.a.flow if pair.a else None, pair.b.flow if pair.b else None, pair.change)
        for pair in change.nodes
        for depth, place in [pair.place]
    ]
    edges = list[tuple[Cell, ...]]()
    for edge in change.edges:
        into, at, source = names[edge.target.depth], edge.target.position, edge.source.position
        edges.append((into, at, edge.kind, source, edge.a, edge.b, edge.change))
        of_heads += [(into, at, source, head, a, b, b - a) for head, a, b in sorted(edge.heads)]
    rows = {"changed nodes": (CHANGED_NODES, nodes), "changed edges": (CHANGED_EDGES, edges)}
    return {name: columns(*each) for name, each in (rows | {"changed heads": (CHANGED_HEADS, of_heads)}).items()}


def _changed_arrays(change: FlowChange) -> dict[str, Measure]:
    nodes = torch.tensor([pair.change for pair in change.nodes])
    edges = torch.tensor([edge.change for edge in change.edges])
    return {
        "B-A nodes": Measure("change of the share of the start", "share", ("node",), nodes),
        "B-A edges": Measure("change of the share of the node", "share", ("edge",), edges),
    }
