"""Information flow in tables: nodes, edges and heads, and their changes from A to B."""

from collections.abc import Mapping

from headlight.model.flow.change import FlowChange
from headlight.model.flow.information_flow import Flow, state_names
from headlight.model.flow.run_flow import flow_change_of, flows_of
from headlight.model.measure.difference import SIDES
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.linear import has_attention_biases
from headlight.model.runs.tables import Rows, Tables, columns, tokens_of

BIAS = "from the bias"
NODES = ("run", "state", "place", "share of the start", BIAS, "from edits")
EDGES = ("run", "into", "at place", "by", "from place", "share of the node")
HEADS = ("run", "into", "at place", "from place", "head", "share of the node")
CHANGED_NODES = ("state", "place", *(f"share of the start, {side}" for side in SIDES))
CHANGED_EDGES = ("into", "at place", "by", "from place", *(f"share of the node, {side}" for side in SIDES))
CHANGED_HEADS = ("into", "at place", "from place", "head", *(f"share of the node, {side}" for side in SIDES))


def flow_tables(comparison: Comparison, place: int | None = None, threshold: float = 0.04) -> Tables:
    """Trace information flow routes back from a place: nodes, edges, and the heads of attention edges.

    Args:
        comparison: one run, or two for the change from A to B, with all edges above the threshold in either.
        place: where the routes end, by default the last place that all runs have.
        threshold: smallest share of its node that an edge must have.

    Source: Ferrando and Voita 2024, "Information Flow Routes: Automatically Interpreting Language Models at Scale".

    Raises:
        InputError: the threshold is not between 0 and 1.
    """
    start = comparison.default_place if place is None else place
    tables = {"tokens": tokens_of(comparison), **_graphs(comparison, flows_of(comparison, start, threshold))}
    change = flow_change_of(comparison, start, threshold)
    return tables if change is None else tables | _changes(comparison, change)


def _graphs(comparison: Comparison, graphs: Mapping[str, Flow]) -> Tables:
    nodes, edges, heads = Rows(), Rows(), Rows()
    for side, graph in graphs.items():
        run = comparison.sides[side]
        names, place = state_names(run.cfg), list(comparison.positions(run)).index
        has_bias = has_attention_biases(run.model)
        for node in graph.nodes:
            state, position = names[node.place.depth], place(node.place.position)
            nodes.append((side, state, position, node.flow, node.bias if has_bias else None, node.rest))
        for edge in graph.edges:
            into, at, source = names[edge.target.depth], place(edge.target.position), place(edge.source.position)
            edges.append((side, into, at, edge.kind, source, edge.share))
            heads += [(side, into, at, source, head, share) for head, share in sorted(edge.heads)]
    has_biases = any(has_attention_biases(run.model) for run in comparison.runs)
    node_columns = {name: cells for name, cells in columns(NODES, nodes).items() if has_biases or name != BIAS}
    return {"nodes": node_columns, "edges": columns(EDGES, edges), "heads": columns(HEADS, heads)}


def _changes(comparison: Comparison, change: FlowChange) -> Tables:
    names = state_names(comparison.a.cfg)
    nodes, edges, heads = Rows(), Rows(), Rows()
    for pair in change.nodes:
        depth, place = pair.place
        flows = (each.flow if each else None for each in (pair.a, pair.b))
        nodes.append((names[depth], place, *flows, pair.change))
    for edge in change.edges:
        into, at, source = names[edge.target.depth], edge.target.position, edge.source.position
        edges.append((into, at, edge.kind, source, edge.a, edge.b, edge.change))
        heads += [(into, at, source, head, a, b, b - a) for head, a, b in sorted(edge.heads)]
    return {
        "changed nodes": columns(CHANGED_NODES, nodes),
        "changed edges": columns(CHANGED_EDGES, edges),
        "changed heads": columns(CHANGED_HEADS, heads),
    }
