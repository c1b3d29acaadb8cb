"""The mode *circuit* as it is drawn: its options, the picture, its sentence, and its edges as a table."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from headlight.app import selection
from headlight.app.components import Column, Link, Option, Table, row_table
from headlight.app.figures.graph import graph
from headlight.app.frame import progress
from headlight.app.frame.edits import drawer
from headlight.app.glossary import TERMS
from headlight.app.pages.graph import card, circuit
from headlight.app.pages.graph.choices import Choices
from headlight.app.pages.graph.circuit import CircuitView
from headlight.app.pages.graph.node_panel import ABLATE, PAGES
from headlight.app.parts import charts, options, tables
from headlight.app.parts.circuit_scene import CircuitEdge
from headlight.app.parts.labels import signed
from headlight.app.parts.markdown import plain
from headlight.app.parts.pair import pair_of
from headlight.app.parts.parts import heading
from headlight.model.base.errors import HeadlightError
from headlight.model.circuits.tables import EDGES, edge_rows
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import AblateHeads, Head
from headlight.model.runs.tables import columns

EMPTY = (
    "None of these edges lies on a path from the embeddings to the logits, so that no circuit is left. Raise the "
    "maximum of edges, lower the minimum score, or choose another method."
)

KEY = (
    "◆ head output  ● MLP  ■ embeddings  ★ logits. Blue edges raise target − distractor, orange ones lower it; wider "
    "edges have larger scores. Click a node for its edges."
)


def draw(comparison: Comparison) -> None:
    """The circuit of A against B or its mean activations, or why there is none."""
    now = selection.current()
    own, subject = now.choices_of(Choices), tuple(run.key for run in comparison.runs)
    against = circuit.against_of(comparison, now)
    size = own.circuit_least, own.circuit_most
    question = subject, pair_of(comparison, now), now.position, size, own.circuit_steps, own.circuit_method, against
    try:
        drawn = progress.watched(
            "scoring every edge", "runs", "circuit", question, lambda: circuit.find(comparison, now)
        )
    except HeadlightError as error:
        with st.container(key="headlight-missing"):
            st.info(plain(str(error)))
        return
    if drawn is not None:
        _draw(comparison, drawn)


def _draw(comparison: Comparison, drawn: CircuitView) -> None:
    if selection.current().table:
        tables.draw(columns(EDGES, edge_rows(drawn.scored)), "Edges of the circuit")
        st.text(circuit.spelled(drawn), help=TERMS["circuit_edges"])
        return

    def chosen(places: list[int]) -> None:
        if places and places[0] < len(drawn.parts):
            selection.choose(Choices, graph_node=drawn.parts[places[0]])

    if not drawn.edges:
        st.info(EMPTY)
        return
    charts.choosable(graph(circuit.scene_of(drawn)), "Edges of the circuit", "circuit_picture", chosen, is_wide=True)
    st.caption(KEY)
    node = drawn.node if drawn.node in drawn.parts else ""
    edges = [edge for edge in drawn.edges if not node or node in (edge.source, edge.target)]
    if node:
        _draw_card(drawn, node, edges)
    st.text(circuit.spelled(drawn), help=TERMS["circuit_edges"])
    heading(f"Edges of {node}" if node else "Edges, the largest first", "circuit_scores", key="circuit_edges")
    _table(node, edges)


def _draw_card(drawn: CircuitView, node: str, edges: Sequence[CircuitEdge]) -> None:
    """The chosen part's largest edges and, of a head, its pages."""
    head = circuit.heads_of(drawn).get(node)
    actions: list[Option] = []
    if head is not None:
        actions = [_link(slug, title, head) for slug, title in PAGES["head"].items()]
        actions.append(drawer.ablating("circuit_ablate", AblateHeads((head,)), ABLATE))
    actions.append(options.button("circuit_clear", "All edges", lambda: _choose("")))
    neighbours = [_neighbour(node, edge) for edge in edges[: card.MAX_NEIGHBOURS]]
    plural = "" if len(edges) == 1 else "s"
    card.draw(node, "circuit_scores", actions, f"{len(edges)} edge{plural} in the circuit.", "Largest:", neighbours)


def _neighbour(node: str, edge: CircuitEdge) -> Link:
    """An edge of the chosen part, as a link that chooses the part at its other end."""
    other = edge.target if edge.source == node else edge.source
    label = f"{edge.source} → {edge.entry} {signed(edge.score)}"
    return Link(f"circuit_edge_{edge.source}_{edge.entry}", label, None, lambda _: _choose(other))


def _choose(node: str) -> None:
    selection.choose(Choices, graph_node=node)


def _table(node: str, edges: Sequence[CircuitEdge]) -> None:
    """Edges as rows, of which one chooses the part at its other end."""
    slot = row_table(
        Table(
            [
                Column("from", [edge.source for edge in edges]),
                Column("to", [edge.entry for edge in edges]),
                Column("score (logits)", [edge.score for edge in edges], 3, signed=True),
            ],
            title="Edges of the circuit",
        ),
        epoch=selection.epoch(node, len(edges)),
        key=selection.widget_key("circuit_edges"),
    )
    if slot is not None:
        source, target = edges[slot].source, edges[slot].target
        _choose(target if source == node else source)
        st.rerun()


def _link(slug: str, title: str, head: Head) -> Link:
    def open_page(_: object) -> None:
        now = selection.current()
        selection.ask(replace(now, heads=options.head_first(head, now.heads)), slug)

    return Link(f"circuit_{slug}", title, None, open_page)
