"""The information flow of a prompt: which tokens and heads, state by state, a token's last state was made of."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from app import selection
from app.components import FlowChoice, GraphEdge, GraphNode, flow_choice, flow_graph
from app.flow import flow_of, readout_of, state_names
from app.glossary import TERMS
from app.run import Run
from app.selection import Selection
from app.selection.chosen import FLOW_THRESHOLDS
from app.shown import Shown
from app.views import lens, tables
from app.views.head_tables import name
from app.views.parts import heading
from app.views.sides import as_tables, positions_at, say_what_is_missing
from model.analysis.flow import Edge, Flow, Place

KINDS = {"residual": "residual stream", "attention": "attention", "mlp": "MLP"}
MOST_NAMED = 3  # heads in a line's tooltip


def render(shown: Shown) -> None:
    """The choices, the graph of each run, and what is told of the node or edge chosen."""
    _take_click(shown)
    place = start_of(shown, selection.current())
    with st.container(horizontal=True, vertical_alignment="bottom"):
        heading("What flows into a token", "flow")
        st.space("stretch")
        as_tables()
    _options(shown, place)
    say_what_is_missing(shown, place)
    sides = positions_at(shown, place)
    for column, side in zip(st.columns(len(sides), gap="large"), sides, strict=True):
        with column:
            _side(shown, side)


def start_of(shown: Shown, chosen: Selection) -> int:
    """The place that is started from: the one chosen, or the last that all runs have."""
    if chosen.position is not None:
        return chosen.position
    everywhere = [place for place in range(len(shown.labels)) if len(positions_at(shown, place)) == len(shown.runs)]
    return everywhere[-1] if everywhere else len(shown.labels) - 1


def found_in(shown: Shown, side: str, chosen: Selection) -> Flow:
    """A run's graph from the start, which it has to have."""
    start = positions_at(shown, start_of(shown, chosen))[side]
    return flow_of(shown.sides[side], start, chosen.flow_threshold)


def chosen_in(shown: Shown, side: str, chosen: Selection) -> tuple[int, ...]:
    """The chosen node or edge, its places as positions of a run; nothing where the run lacks one of them."""
    depth, *places = chosen.flow_chosen or (0,)
    known = shown.positions(shown.sides[side])
    positions = [known[place] if place < len(known) else None for place in places]
    return () if not places or None in positions else (depth, *(each for each in positions if each is not None))


def _options(shown: Shown, place: int) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", key="headlight-options"):
        st.selectbox(
            "Start from",
            list(range(len(shown.labels))),
            format_func=lambda each: f"{each}  {shown.labels[each]}",
            help=TERMS["flow_start"],
            width=200,
            **selection.tie("flow_start", place, lambda each: selection.choose(position=each, flow_chosen=())),
        )
        least, most = FLOW_THRESHOLDS
        st.slider(
            "Least share of a line",
            least,
            most,
            step=0.005,
            format="%.3f",
            help=TERMS["flow_threshold"],
            width=260,
            **selection.bind("flow_threshold"),
        )
        if selection.current().flow_chosen:
            st.button("Clear the choice", key=selection.widget_key("flow_clear"), on_click=_clear)


def _clear() -> None:
    selection.choose(flow_chosen=())


def _key(side: str) -> str:
    return selection.widget_key(f"flow_{side}")


def _choice(shown: Shown, side: str) -> FlowChoice:
    now = selection.current()
    return FlowChoice(positions_at(shown, start_of(shown, now))[side], chosen_in(shown, side, now))


def _take_click(shown: Shown) -> None:
    """What was clicked in a graph, before anything is drawn from it."""
    for side in positions_at(shown, start_of(shown, selection.current())):
        before, places = _choice(shown, side), shown.positions(shown.sides[side])
        clicked = flow_choice(before, selection.epoch(), _key(side))
        if clicked != before and all(each in places for each in (clicked.start, *clicked.chosen[1:])):
            chosen = (*clicked.chosen[:1], *(places.index(each) for each in clicked.chosen[1:]))
            selection.choose(position=places.index(clicked.start), flow_chosen=chosen)
            return


def _side(shown: Shown, side: str) -> None:
    with st.spinner("Following the flow…"):
        found = found_in(shown, side, selection.current())
    run = shown.sides[side]
    if selection.current().table:
        _tables(run, found, side if shown.b is not None else "")
    else:
        draw(shown, side, found, _choice(shown, side), selection.epoch(), _key(side))
    st.caption(spelled(found))
    _told(shown, side, found)


def draw(shown: Shown, side: str, found: Flow, choice: FlowChoice, epoch: int, key: str, in_file: bool = False) -> None:
    """A run's graph as a component; in a file there is nothing that could start from another token."""
    run = shown.sides[side]
    flow_graph(
        [GraphNode(*node.place, node.flow, node.bias, node.rest) for node in found.nodes],
        [
            GraphEdge(
                *edge.target[:1], edge.source.position, edge.target.position, edge.kind, edge.share, _by(run, edge)
            )
            for edge in found.edges
        ],
        labels=run.labels,
        states=state_names(run),
        threshold=found.threshold,
        choice=choice,
        title=side if shown.b is not None else "",
        startable=not in_file,
        epoch=epoch,
        key=key,
    )


def _by(run: Run, edge: Edge) -> str:
    layer = layer_of(run, edge.target)
    heads = [f"{name((layer, head))} {share:.3f}" for head, share in edge.heads[:MOST_NAMED] if share > 0]
    return ", ".join(heads) + (", …" if len(edge.heads) > MOST_NAMED else "")


def layer_of(run: Run, place: Place) -> int:
    """The layer that writes to a state above the embedding."""
    return (place.depth - 1) // (1 if run.cfg.attn_only else 2)


def spelled(found: Flow) -> str:
    """How large the graph is, and how much of the start it accounts for."""
    biases = sum(node.flow * (node.bias + node.rest) for node in found.nodes)
    left_out = max(0.0, 1 - found.traced - biases)
    return (
        f"{len(found.nodes)} nodes and {len(found.edges)} lines of at least {found.threshold:g}. Of the start they "
        f"trace {found.traced:.1%} down to the embeddings; {biases:.1%} is biases, {left_out:.1%} lines left out."
    )


def _told(shown: Shown, side: str, found: Flow) -> None:
    run, chosen = shown.sides[side], chosen_in(shown, side, selection.current())
    if len(chosen) == 2 and any(node.place == Place(*chosen) for node in found.nodes):
        _node(shown, side, Place(*chosen))
    elif edge := edge_of(found, chosen):
        _edge(shown, side, run, edge)
    elif chosen:
        st.info("What was chosen is not in this graph. Lower the least share, or choose another line or dot.")
    else:
        st.caption("Click a line for its heads, a dot for its tokens, a dot of the top row to start from there.")


def edge_of(found: Flow, chosen: Sequence[int]) -> Edge | None:
    """The chosen attention edge, where it is in the graph."""
    if len(chosen) != 3:
        return None
    depth, target, source = chosen
    ends = (Place(depth - 1, source), Place(depth, target))
    return next((each for each in found.edges if each.kind == "attention" and (each.source, each.target) == ends), None)


def _node(shown: Shown, side: str, place: Place) -> None:
    run = shown.sides[side]
    heading(f"What {state_names(run)[place.depth]} says at {place.position} {run.labels[place.position]}", "flow_node")
    if reason := lens.needs(shown):
        st.info(reason)
        return
    tables.draw(tokens_of(run, place), f"Top tokens of the chosen node {side}")


def tokens_of(run: Run, place: Place) -> tables.Columns:
    """A node's likeliest tokens, and how their ranks have changed against the state below."""
    found = readout_of(run, place)
    tokens = found.tokens.values.tolist()
    columns: tables.Columns = {
        "Token": run.tokenizer.labels(tokens),
        "Probability": found.probabilities.values.numpy(),
        "Rank": list(range(1, len(tokens) + 1)),
    }
    if found.ranks_below is not None:
        below = found.ranks_below.values.tolist()
        columns[f"Rank in {state_names(run)[place.depth - 1]}"] = below
        columns["Risen by"] = [before - rank for rank, before in enumerate(below, 1)]
    return columns


def _edge(shown: Shown, side: str, run: Run, edge: Edge) -> None:
    source, target, layer = edge.source.position, edge.target.position, layer_of(run, edge.target)
    ends = f"{source} {run.labels[source]} to {target} {run.labels[target]}"
    heading(f"Who carries layer {layer} from {ends}", "flow_edge")
    tables.draw(heads_of(run, edge), f"Heads of the chosen line {side}")
    best = (layer, edge.heads[0][0])
    places = shown.positions(run)
    st.button(
        f"Why does {name(best)} look there?",
        key=selection.widget_key(f"flow_why_{side}"),
        icon=":material/arrow_forward:",
        on_click=lambda: _explain(best, places.index(target), places.index(source)),
    )


def _explain(head: tuple[int, int], query: int, key: int) -> None:
    asked = replace(selection.current(), heads=(head,), queries=(query,), keys=(key,))
    selection.ask(asked, "why")


def heads_of(run: Run, edge: Edge) -> tables.Columns:
    """The heads of an edge, ranked."""
    layer = layer_of(run, edge.target)
    return {
        "Head": [name((layer, head)) for head, _ in edge.heads],
        "Share of the node": [share for _, share in edge.heads],
        "Share of the line": [share / edge.share for _, share in edge.heads],
    }


def _tables(run: Run, found: Flow, side: str) -> None:
    """The graph in numbers."""
    for title, columns in (("Lines", edges_of(run, found)), ("Nodes", nodes_of(run, found))):
        heading(f"{title} {side}".strip())
        tables.draw(columns, f"{title} of the flow {side}".strip())


def edges_of(run: Run, found: Flow) -> tables.Columns:
    """One row an edge, from the start down."""
    names = state_names(run)
    return {
        "Into": [names[edge.target.depth] for edge in found.edges],
        "at": [_at(run, edge.target) for edge in found.edges],
        "by": [KINDS[edge.kind] for edge in found.edges],
        "from": [_at(run, edge.source) for edge in found.edges],
        "Share": [edge.share for edge in found.edges],
        "Heads": [_by(run, edge) if edge.heads else "" for edge in found.edges],
    }


def nodes_of(run: Run, found: Flow) -> tables.Columns:
    """One row a node, from the start down."""
    names = state_names(run)
    return {
        "State": [names[node.place.depth] for node in found.nodes],
        "at": [_at(run, node.place) for node in found.nodes],
        "Of the start": [node.flow for node in found.nodes],
        "From the bias": [node.bias for node in found.nodes],
        "From edits": [node.rest for node in found.nodes],
    }


def _at(run: Run, place: Place) -> str:
    return f"{place.position} {run.labels[place.position]}"
