"""The chosen node's top tokens or the chosen edge's heads, in one run or in both."""

from dataclasses import replace

import streamlit as st

from headlight.app import selection
from headlight.app.pages.flow import figures as numbers
from headlight.app.pages.flow.choices import Choices, chosen_in, edge_of, flow_in
from headlight.app.parts import needs
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.parts.tables import draw
from headlight.model.flow.change import EdgePair, FlowChange
from headlight.model.flow.information_flow import Edge, Flow, Place, state_names
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name
from headlight.model.runs.run import Run


def of_both(comparison: Comparison, change: FlowChange) -> None:
    """Details of the choice in A and in B; of one run alone where the other has no such token."""
    chosen = selection.current().choices_of(Choices).flow_chosen
    node = next((pair for pair in change.nodes if pair.place == chosen), None)
    if node is not None and node.a and node.b:
        _node_of_both(comparison, node.place)
        return
    if edge := edge_of(change.edges, chosen):
        _edge_of_both(comparison, edge)
        return
    for side in comparison.sides:
        flow = flow_in(comparison, side, selection.current())
        if _in_graph(flow, chosen_in(comparison, side, selection.current())):
            of_one(comparison, side, flow)
            return
    _say_of_none(chosen)


def _in_graph(flow: Flow, chosen: tuple[int, ...]) -> bool:
    return any(node.place == chosen for node in flow.nodes) or edge_of(flow.edges, chosen) is not None


def _say_of_none(chosen: tuple[int, ...]) -> None:
    if chosen:
        st.info("The selection is not in this graph. Lower the minimum share, or click another edge or node.")
    else:
        st.caption("Click an edge for its heads, a node for its top tokens, or a node of the top row to start there.")


def _node_of_both(comparison: Comparison, place: Place) -> None:
    here = f"{place.position} {comparison.labels[place.position]}"
    heading(f"Logit lens of {state_names(comparison.a.cfg)[place.depth]} at {here}", "flow_node_both", key="told")
    if reason := needs.language_model(comparison):
        st.info(plain(reason))
        return
    draw(numbers.tokens_of_both(comparison, place), f"Top tokens of the chosen node {DIFFERENCE}")


def _edge_of_both(comparison: Comparison, edge: EdgePair) -> None:
    source, target, layer = edge.source.position, edge.target.position, numbers.layer_of(comparison.a, edge.target)
    ends = f"{source} {comparison.labels[source]} to {target} {comparison.labels[target]}"
    heading(f"Heads of layer {layer} from {ends}", "flow_edge_both", key="told")
    st.text(f"A {edge.a:.3f}    B {edge.b:.3f}    {DIFFERENCE} {edge.change:+.3f}".replace("-", "−"))
    draw(numbers.heads_of_both(comparison.a, edge), f"Heads of the chosen line {DIFFERENCE}")
    _why((layer, edge.heads[0][0]), target, source, DIFFERENCE)


def of_one(comparison: Comparison, side: str, flow: Flow) -> None:
    """Details of the choice in one run."""
    run, chosen = comparison.sides[side], chosen_in(comparison, side, selection.current())
    if len(chosen) == 2 and any(node.place == chosen for node in flow.nodes):
        _node(comparison, side, Place(*chosen))
    elif edge := edge_of(flow.edges, chosen):
        _edge(comparison, side, run, edge)
    else:
        _say_of_none(chosen)


def _node(comparison: Comparison, side: str, place: Place) -> None:
    run = comparison.sides[side]
    here = comparison.token_at(run, place.position)
    heading(f"Logit lens of {state_names(run.cfg)[place.depth]} at {here}", "flow_node", key=f"told {side}")
    if reason := needs.language_model(comparison):
        st.info(plain(reason))
        return
    draw(numbers.tokens_of(run, place), f"Top tokens of the chosen node {side}")


def _edge(comparison: Comparison, side: str, run: Run, edge: Edge) -> None:
    source, target, layer = edge.source.position, edge.target.position, numbers.layer_of(run, edge.target)
    ends = f"{comparison.token_at(run, source)} to {comparison.token_at(run, target)}"
    heading(f"Heads of layer {layer} from {ends}", "flow_edge", key=f"told {side}")
    draw(numbers.heads_of(run, edge), f"Heads of the chosen line {side}")
    _why((layer, edge.heads[0][0]), comparison.place_of(run, target), comparison.place_of(run, source), side)


def _why(head: Head, query: int, key: int, graph: str) -> None:
    st.button(
        plain(f"Why does {head_name(head)} look there?"),
        key=selection.widget_key(f"flow_why_{graph}"),
        icon=":material/arrow_forward:",
        on_click=lambda: _explain(head, query, key),
    )


def _explain(head: Head, query: int, key: int) -> None:
    selected = replace(selection.current(), heads=(head,), queries=(query,), keys=(key,))
    selection.ask(selected, "why")
