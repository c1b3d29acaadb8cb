"""Exports of the page *Information flow*: its script, its numbers, and a file of its graphs."""

import torch

from headlight.app.components import FlowChoice
from headlight.app.exports.data import Data
from headlight.app.exports.drawings import Drawing, Drawings
from headlight.app.exports.script import report
from headlight.app.pages.flow.choices import Choices, change_in, chosen_in
from headlight.app.pages.flow.graph import of_change, of_run
from headlight.app.parts.pair import place_of
from headlight.app.selection.chosen import Selection
from headlight.model.flow.change import FlowChange
from headlight.model.flow.information_flow import Flow
from headlight.model.flow.run_flow import flows_of
from headlight.model.flow.tables import flow_tables
from headlight.model.measure import Measure
from headlight.model.runs.comparison import Comparison

PURPOSE = "What a token's last state was made of: the information flow."


def script(comparison: Comparison, chosen: Selection) -> str:
    """A script that prints the nodes, the edges and the heads of each run's graph, and how they change from A to B."""
    start, threshold = place_of(comparison, chosen), chosen.choices_of(Choices).flow_threshold
    return report(PURPOSE, comparison, chosen.align, "flow_tables", place=start, threshold=threshold)


def graphs(comparison: Comparison, chosen: Selection) -> dict[str, Flow]:
    """The graph of each run that has the start."""
    return flows_of(comparison, place_of(comparison, chosen), chosen.choices_of(Choices).flow_threshold)


def data(comparison: Comparison, chosen: Selection) -> Data:
    """The tables, and how much flows through each node and edge; with a B also the change."""
    start, threshold = place_of(comparison, chosen), chosen.choices_of(Choices).flow_threshold
    flows, change = graphs(comparison, chosen), change_in(comparison, chosen)
    arrays = {f"{side} {name}": measure for side, graph in flows.items() for name, measure in _arrays(graph).items()}
    if change is not None:
        arrays |= _changed_arrays(change)
    shows = {"start": start, "threshold (share of a node)": threshold}
    return Data("flow", shows, flow_tables(comparison, start, threshold), arrays)


def _arrays(graph: Flow) -> dict[str, Measure]:
    nodes = torch.tensor([node.flow for node in graph.nodes])
    edges = torch.tensor([edge.share for edge in graph.edges])
    return {
        "nodes": Measure("share of the start", "share", ("node",), nodes),
        "edges": Measure("share of the node", "share", ("edge",), edges),
    }


def _changed_arrays(change: FlowChange) -> dict[str, Measure]:
    nodes = torch.tensor([pair.change for pair in change.nodes])
    edges = torch.tensor([edge.change for edge in change.edges])
    return {
        "B-A nodes": Measure("change of the share of the start", "share", ("node",), nodes),
        "B-A edges": Measure("change of the share of the node", "share", ("edge",), edges),
    }


def drawings(comparison: Comparison, chosen: Selection) -> Drawings:
    """The graphs of A and, with a B, of B and of the change under them."""
    runs = [
        Drawing(of_run(comparison, side, graph), FlowChoice(graph.start.position, chosen_in(comparison, side, chosen)))
        for side, graph in graphs(comparison, chosen).items()
    ]
    rows = [runs]
    if (change := change_in(comparison, chosen)) is not None:
        choice = FlowChoice(place_of(comparison, chosen), chosen.choices_of(Choices).flow_chosen)
        rows.append([Drawing(of_change(comparison, change), choice)])
    return Drawings("Information flow", comparison, rows)
