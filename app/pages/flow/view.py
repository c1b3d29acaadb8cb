"""Information flow of a prompt: the tokens and heads, state by state, that contributed to a token's last state."""

import streamlit as st

from headlight.app import selection
from headlight.app.components import FlowChoice, Slider, flow_choice, flow_graph
from headlight.app.frame import progress
from headlight.app.glossary import TERMS
from headlight.app.pages.flow import choice_panel
from headlight.app.pages.flow import figures as numbers
from headlight.app.pages.flow.choices import THRESHOLDS, Choices, change_in, chosen_in, flow_in, lacks_change
from headlight.app.pages.flow.graph import of_change, of_run
from headlight.app.parts import options, tables
from headlight.app.parts.markdown import plain
from headlight.app.parts.pair import place_of
from headlight.app.parts.parts import heading, title_row
from headlight.app.parts.sides import DIFFERENCE, positions_at, say_what_is_common, say_what_is_missing
from headlight.model.flow.change import FlowChange
from headlight.model.flow.information_flow import Flow
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run


def render(comparison: Comparison) -> None:
    """The options, the graph of each run and of the change, and details of the chosen node or edge."""
    _take_click(comparison)
    place = place_of(comparison, selection.current())
    with title_row("Information flow", "flow", level=1):
        _options(comparison, place)
    say_what_is_common(comparison)
    say_what_is_missing(comparison, place)
    sides = positions_at(comparison, place)
    for column, side in zip(st.columns(len(sides), gap="large"), sides, strict=True):
        with column:
            _side(comparison, side)
    if reason := lacks_change(comparison):
        st.caption(plain(reason))
    elif (change := change_in(comparison, selection.current())) is not None:
        _change(comparison, change)


def _options(comparison: Comparison, place: int) -> None:
    least, most = THRESHOLDS
    clear = options.button("flow_clear", "Clear selection", lambda: selection.choose(Choices, flow_chosen=()))
    options.row(
        options.place(
            "flow_start",
            "Start from",
            comparison.labels,
            place,
            lambda at: selection.choose(Choices, position=at, flow_chosen=()),
            groups=comparison.turns,
        ),
        options.bind(
            Slider,
            "flow_threshold",
            "Minimum share",
            page=Choices,
            least=least,
            most=most,
            step=0.005,
            width=220,
        ),
        clear if selection.current().choices_of(Choices).flow_chosen else None,
        options.as_tables(),
    )


def _key(side: str) -> str:
    return selection.widget_key(f"flow_{side}")


def _choice(comparison: Comparison, graph: str) -> FlowChoice:
    """The choice in a run's positions or, for the change, in places."""
    now = selection.current()
    start = place_of(comparison, now)
    if graph == DIFFERENCE:
        return FlowChoice(start, now.choices_of(Choices).flow_chosen)
    return FlowChoice(positions_at(comparison, start)[graph], chosen_in(comparison, graph, now))


def _take_click(comparison: Comparison) -> None:
    """Apply a click in a graph before anything is drawn from it."""
    places = {
        side: comparison.positions(comparison.sides[side])
        for side in positions_at(comparison, place_of(comparison, selection.current()))
    }
    if len(places) == 2:
        places[DIFFERENCE] = tuple(range(len(comparison.labels)))
    for graph, known in places.items():
        before = _choice(comparison, graph)
        clicked = flow_choice(before, selection.epoch(), _key(graph))
        if clicked != before and all(each in known for each in (clicked.start, *clicked.chosen[1:])):
            chosen = (*clicked.chosen[:1], *(known.index(each) for each in clicked.chosen[1:]))
            selection.choose(Choices, position=known.index(clicked.start), flow_chosen=chosen)
            return


def _side(comparison: Comparison, side: str) -> None:
    run, now = comparison.sides[side], selection.current()
    subject = (run.key, place_of(comparison, now), now.choices_of(Choices).flow_threshold)
    flow = progress.watched("the flow", "layers done", f"flow_{side}", subject, lambda: flow_in(comparison, side, now))
    if flow is None:
        return
    if selection.current().table:
        _tables(comparison, run, flow, side if comparison.b is not None else "")
    else:
        graph = of_run(comparison, side, flow)
        flow_graph(graph, choice=_choice(comparison, side), epoch=selection.epoch(), key=_key(side))
    st.caption(plain(numbers.spelled(flow)))
    if change_in(comparison, selection.current()) is None:
        choice_panel.of_one(comparison, side, flow)


def _change(comparison: Comparison, change: FlowChange) -> None:
    """The graph of the change, over the whole width, and details of the choice in A and in B."""
    if selection.current().table:
        heading(f"Lines {DIFFERENCE}", "flow_change")
        tables.draw(numbers.changed_edges_of(comparison, change), f"Lines of the flow {DIFFERENCE}")
        heading(f"Nodes {DIFFERENCE}")
        tables.draw(numbers.changed_nodes_of(comparison, change), f"Nodes of the flow {DIFFERENCE}")
    else:
        choice, key = _choice(comparison, DIFFERENCE), _key(DIFFERENCE)
        flow_graph(of_change(comparison, change), choice=choice, epoch=selection.epoch(), key=key)
    st.caption(plain(numbers.spelled_change(change)), help=TERMS["flow_change"])
    choice_panel.of_both(comparison, change)


def _tables(comparison: Comparison, run: Run, flow: Flow, side: str) -> None:
    """The graph in numbers."""
    of_run = {"Lines": numbers.edges_of(comparison, run, flow), "Nodes": numbers.nodes_of(comparison, run, flow)}
    for title, columns in of_run.items():
        heading(f"{title} {side}".strip())
        tables.draw(columns, f"{title} of the flow {side}".strip())
