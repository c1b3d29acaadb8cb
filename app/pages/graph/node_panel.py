"""The chosen node: its edges in and out, and links to the pages about it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from headlight.app import selection
from headlight.app.components import Column, Option, Table, row_table
from headlight.app.components.options.kinds import Link
from headlight.app.frame.edits import drawer
from headlight.app.pages.graph import card
from headlight.app.pages.graph.choices import Choices
from headlight.app.pages.graph.graph_view import GraphView, RunGraphView
from headlight.app.parts import options, tables
from headlight.app.parts.labels import number
from headlight.app.parts.parts import heading
from headlight.app.selection.chosen import Selection
from headlight.model.graph.graph import Node
from headlight.model.graph.tables import EDGE, NODE, edge_rows, node_rows
from headlight.model.runs.edits import AblateHeads, AblateNeurons, Edit, EditFeature
from headlight.model.runs.tables import columns

MAX_ROWS = 40  # edges in a table
ROUNDING = 1e-5  # of the edges' sizes: what is left of a node in float32 is no bias
ABLATE = "Ablates it in A at every position and shows that as B on every page. The edits' drawer can change the edit."
PAGES = {
    "head": {"why": "Why", "inside": "Inside"},
    "feature": {"features": "Features"},
    "neuron": {"mlp": "MLP"},
    "token": {"attention": "Attention"},
    "logit": {"attention": "Attention"},
}


def draw_card(view: GraphView) -> None:
    """The chosen node's name, effect, strongest inputs and pages."""
    place = view.chosen
    links = _links(view, view.graph.nodes[place]) if isinstance(view, RunGraphView) else []
    said = f"Effect on the target: {_signed(float(view.graph.effects[place]))} logits."
    inputs = [_input_link(view, source) for source in _inputs(view)[: card.MAX_NEIGHBOURS]]
    card.draw(view.called(place), "graph_node", links, said, "Largest inputs, by effect:", inputs)


def _inputs(view: GraphView) -> list[int]:
    """The kept nodes from which the chosen one has its input, the largest effect first."""
    graph, place = view.graph, view.chosen
    sources = view.pruned.edges[place].nonzero().flatten().tolist() if place < graph.n_followed else []
    return sorted(sources, key=lambda source: -abs(float(graph.flows[place, source])))


def _input_link(view: GraphView, source: int) -> Link:
    def choose(_: Any) -> None:
        selection.choose(Choices, graph_node=view.ids[source])

    effect = float(view.graph.flows[view.chosen, source])
    return Link(f"graph_input_{source}", f"{view.called(source)} {_signed(effect)}", None, choose)


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def draw_edges(view: GraphView) -> None:
    """The chosen node's edges."""
    place, graph = view.chosen, view.graph
    said = _spelled(view, place) if graph.nodes[place].is_followed else ""
    out = view.pruned.edges[:, place].nonzero().flatten().tolist()
    _table(view, "Inputs", [(place, source) for source in _inputs(view)], 1, said)
    _table(view, "Outputs", [(row, place) for row in out], 0)


def _spelled(view: GraphView, place: int) -> str:
    """The node's inputs as a sum."""
    graph, is_kept = view.graph, view.pruned.edges[place]
    kept = float(graph.edges[place, is_kept].sum())
    left_out = float(graph.edges[place].sum()) - kept
    total, bias = float(graph.activations[place]), float(graph.bias[place])
    has_bias = abs(bias) > ROUNDING * float(graph.edges[place].abs().sum())
    beside = f", bias {number(bias)}" if has_bias else ""
    return f"Kept edges {number(kept)}, pruned edges {number(left_out)}{beside}: total {number(total)}."


def _table(view: GraphView, title: str, edges: list[tuple[int, int]], end: int, said: str = "") -> None:
    """Edges as rows under what is said of them, the largest effect first; a row that is chosen chooses its node."""
    graph, flows = view.graph, view.graph.flows
    edges = sorted(edges, key=lambda edge: -abs(float(flows[edge])))[:MAX_ROWS]
    heading(title, "graph_edge", key=f"graph_{end}")
    if said:
        st.text(said)
    if not edges:
        begins = end == 1 and not view.graph.nodes[view.chosen].is_followed
        st.caption("The graph starts here." if begins else "No edges kept.")
        return
    slot = row_table(
        Table(
            [
                Column("node", [view.called(edge[end]) for edge in edges]),
                Column("weight", [float(graph.edges[edge]) for edge in edges], 3, signed=True),
                Column("effect on target", [float(flows[edge]) for edge in edges], 3, signed=True),
            ],
            title=title,
        ),
        epoch=selection.epoch(view.ids[view.chosen]),
        key=selection.widget_key(f"graph_edges_{end}"),
    )
    if slot is not None:
        selection.choose(Choices, graph_node=view.ids[edges[slot][end]])
        st.rerun()


def _links(view: RunGraphView, node: Node) -> list[Option]:
    """Buttons that open the node's pages, and that make A without it B."""
    place, pages = view.places[node.position], PAGES.get(node.kind, {})
    links = [Link(f"graph_{slug}", title, None, _opener(slug, view, node, place)) for slug, title in pages.items()]
    edit = _edit(view, node)
    if edit is None:
        return list(links)
    return [*links, drawer.ablating("graph_ablate", edit, ABLATE)]


def _opener(slug: str, view: RunGraphView, node: Node, place: int) -> Callable[[Any], None]:
    def open_page(_: Any) -> None:
        selected = _on_page(selection.current(), node, place)
        if node.kind == "feature" and view.opened is not None:
            selected = replace(selected, dictionary=view.opened.name)
        selection.ask(selected, slug)

    return open_page


def _on_page(now: Selection, node: Node, place: int) -> Selection:
    """Selection with a node's part chosen on the page about it."""
    layer, index = node.layer or 0, node.index or 0
    if node.kind == "head":
        return replace(now, heads=options.head_first((layer, index), now.heads), queries=(place,), keys=())
    if node.kind == "feature":
        return replace(now, feature=(layer, index), position=place)
    if node.kind == "neuron":
        return replace(now, neuron=(layer, index), position=place)
    return replace(now, queries=(place,), keys=())


def _edit(view: RunGraphView, node: Node) -> Edit | None:
    layer, index = node.layer or 0, node.index or 0
    if node.kind == "head":
        return AblateHeads(((layer, index),))
    if node.kind == "neuron":
        return AblateNeurons(((layer, index),))
    if node.kind == "feature" and view.opened is not None:
        return EditFeature(view.opened.name, view.opened[layer].hook_in, index)
    return None


def tables_of(view: GraphView) -> None:
    """All nodes and edges that are kept, in numbers."""
    heading("Nodes")
    tables.draw(columns(NODE[1:], node_rows(view.graph, view.pruned, view.n_layers, view.places)), "Nodes of the graph")
    heading("Edges")
    tables.draw(columns(EDGE[1:], edge_rows(view.graph, view.pruned, view.n_layers, view.places)), "Edges of the graph")
