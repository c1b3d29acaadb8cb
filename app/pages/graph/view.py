"""The attribution graph of a prediction: its picture, the node that is chosen, and whether the graph holds."""

import streamlit as st

from headlight.app import selection
from headlight.app.components import Choice, Column, Listed, Number, Slider, Switch, Table, row_table
from headlight.app.figures.graph import graph
from headlight.app.frame import notices, progress
from headlight.app.glossary import TERMS
from headlight.app.pages.graph import circuit, circuit_view, files, grouping, node_panel
from headlight.app.pages.graph.choices import EDGE_LIMITS, LEAST, NODE_LIMITS, SHARES, STEPS, Choices
from headlight.app.pages.graph.graph_view import NEURONS, GraphView, RunGraphView, sides_of, units_of, units_offered
from headlight.app.pages.graph.plot import scene_of
from headlight.app.parts import charts, options, tables
from headlight.app.parts.circuit_scene import METHODS
from headlight.app.parts.labels import number
from headlight.app.parts.markdown import plain
from headlight.app.parts.pair import pair_of, place_of, said_of_cap
from headlight.app.parts.parts import heading, title_row
from headlight.app.parts.sides import DIFFERENCE, say_what_is_missing, side_of
from headlight.model.graph.checking import Check
from headlight.model.graph.tables import check_rows, in_words, node_changes
from headlight.model.runs.comparison import Comparison

EFFECT = "Effect on the target, in logits."
KEY = (
    "■ token  ◆ head output  ● neuron or feature  △ left out, or a dictionary’s error  ★ target. Blue raises the "
    "target, orange lowers it; larger marks have more influence. Click one for its edges."
)
MODES = {"graph": "graph", "circuit": "circuit"}
CIRCUIT_AGAINST = {"b": "prompt B", "mean": "mean activations", "zero": "zero"}


def render(comparison: Comparison) -> None:
    """The options, the graph, and under it the chosen node, the check, groups and files."""
    if (opened := files.opened()) is not None:
        _of_file(opened)
        return
    pair = pair_of(comparison, selection.current())
    with title_row("Attribution graph", "graph", level=1):
        _options(comparison)
    for slot, remark in enumerate(pair.remarks):
        notices.refused(remark, f"graph_pair_{slot}")
    say_what_is_missing(comparison, place_of(comparison, selection.current()))
    if selection.current().choices_of(Choices).graph_mode == "circuit":
        circuit_view.draw(comparison)
        return
    subject = tuple(run.key for run in comparison.runs), selection.current().choices, pair, selection.current().position
    sides = progress.watched(
        "building the graph", "parts", "graph", subject, lambda: sides_of(comparison, selection.current())
    )
    if sides is None:
        return
    side = side_of(comparison, selection.current())
    if side == DIFFERENCE and len(sides) == 2:
        _changes(sides)
    else:
        _side(comparison, sides.get(side) or next(iter(sides.values())))


def _options(comparison: Comparison) -> None:
    run, now = comparison.a, selection.current()
    pair = pair_of(comparison, now)
    labels = run.outputs.labels([pair.target, pair.distractor])
    units = {NEURONS: "neurons"} | {name: name for name in units_offered(run)}
    least, most = SHARES
    own = now.choices_of(Choices)
    if own.graph_mode == "circuit":
        _circuit_options(comparison, labels)
        return
    options.row(
        _mode(),
        options.side(comparison.b is not None, "Explain"),
        options.token("target", labels[0], run.label_names),
        options.token("distractor", labels[1], run.label_names) if own.graph_against == "distractor" else None,
        options.bind(
            Choice, "graph_against", "Minus", page=Choices, options={"distractor": "distractor", "mean": "mean of all"}
        ),
        _share("graph_nodes", "Influence kept", least, most),
        _place(comparison),
        options.tie(
            Listed,
            "graph_units",
            "MLPs as",
            units_of(comparison, now),
            lambda units: selection.choose(Choices, graph_units=units, graph_node="", graph_groups=()),
            options=units,
            width=150,
            folded=True,
        ),
        options.bind(Switch, "graph_folded", "Fold heads into edges", page=Choices, folded=True),
        options.bind(
            Number,
            "graph_most",
            "Maximum nodes",
            page=Choices,
            least=NODE_LIMITS[0],
            most=NODE_LIMITS[1],
            step=10,
            folded=True,
        ),
        _share("graph_edges", "Edges' influence kept", least, most, folded=True),
        options.as_tables(),
    )


def _circuit_options(comparison: Comparison, labels: list[str]) -> None:
    own = selection.current().choices_of(Choices)
    offered = {name: said for name, said in CIRCUIT_AGAINST.items() if comparison.b is not None or name != "b"}
    options.row(
        _mode(),
        options.tie(
            Choice,
            "circuit_against",
            "Baseline",
            circuit.against_of(comparison, selection.current()),
            lambda against: selection.choose(Choices, circuit_against=against),
            options=offered,
        ),
        options.bind(Listed, "circuit_method", "Method", page=Choices, options=METHODS, width=190),
        options.token("target", labels[0], comparison.a.label_names),
        options.token("distractor", labels[1], comparison.a.label_names),
        options.bind(
            Number, "circuit_most", "Maximum edges", page=Choices, least=EDGE_LIMITS[0], most=EDGE_LIMITS[1], step=10
        ),
        options.bind(
            Number,
            "circuit_least",
            "Minimum score",
            page=Choices,
            least=LEAST[0],
            most=LEAST[1],
            step=0.001,
            folded=True,
        ),
        options.bind(
            Number, "circuit_steps", "Gradients", page=Choices, least=STEPS[0], most=STEPS[1], step=1, folded=True
        )
        if own.circuit_method.startswith("eap_ig")
        else None,
        _place(comparison),
        options.as_tables(),
    )


def _mode() -> Choice:
    def turn(mode: str) -> None:
        selection.choose(Choices, graph_mode=mode, graph_node="")

    return options.tie(
        Choice, "graph_mode", "Show", selection.current().choices_of(Choices).graph_mode, turn, options=MODES
    )


def _place(comparison: Comparison) -> Listed:
    return options.place(
        "graph_place",
        "Predicted after",
        comparison.labels,
        place_of(comparison, selection.current()),
        lambda at: selection.choose(Choices, position=at, graph_node=""),
        folded=True,
        groups=comparison.turns,
    )


def _share(field: str, label: str, least: float, most: float, folded: bool = False) -> Slider:
    return options.bind(Slider, field, label, page=Choices, least=least, most=most, step=0.01, width=170, folded=folded)


def _side(comparison: Comparison, view: RunGraphView) -> None:
    _picture(view)
    node_panel.draw_card(view)
    whose = "" if comparison.b is None else f"{view.side}: "
    said = f"{whose}{_spelled(view)} {said_of_cap([comparison.sides[view.side]])}"
    st.text(said, help=TERMS["graph_share"])  # tokens are no markup
    left, right = st.columns(2, gap="large")
    with left:
        node_panel.draw_edges(view)
    with right:
        _check(view)
        grouping.draw(view)
        files.draw(view)


def _picture(view: GraphView) -> None:
    if selection.current().table:
        node_panel.tables_of(view)
        return

    def chosen(places: list[int]) -> None:
        if places and places[0] < len(view.kept):
            selection.choose(Choices, graph_node=view.ids[view.kept[places[0]]])

    alt = f"Attribution graph of the {view.graph.target_name}"
    charts.choosable(graph(scene_of(view)), alt, "graph_picture", chosen, is_wide=True)
    st.caption(KEY)


def _spelled(view: GraphView) -> str:
    """The target, the size of the pruned graph, and how much of the effect it explains."""
    graph, pruned, scores = view.graph, view.pruned, view.scores
    n_kept, n_edges = int(pruned.nodes.sum()), int(pruned.edges.sum())
    return (
        f"The {graph.target_name} is {number(graph.target.value)}. {n_kept:,} of {len(graph.nodes):,} nodes are kept, "
        f"with {pruned.node_share:.1%} of the influence, and {n_edges:,} edges, with {pruned.edge_share:.1%} of "
        "theirs."
        f" {scores.replacement:.0%} of the influence starts at tokens (replacement score), "
        f"{scores.completeness:.0%} of nodes' inputs are explained (completeness)."
    )


def _check(view: RunGraphView) -> None:
    heading("Check by ablation", "graph_check", key="graph_check")
    if not view.nodes_checked:
        st.info("No head output, neuron or feature is kept, so there is nothing to ablate. Keep more of the influence.")
        return
    assert view.run is not None  # of a file there is no check
    subject = view.run.key, view.graph.target, view.nodes_checked
    said = "running the model without each node"
    check = progress.watched(said, "runs done", "graph_check", subject, lambda: view.check)
    if check is None:
        return
    st.text(in_words(check))
    _outcomes(view, check)


def _outcomes(view: RunGraphView, check: Check) -> None:
    """Effect of each ablation; a node's row selects it."""
    rows = check_rows(view.graph, check, view.places)
    names, *values = ([*column] for column in zip(*rows, strict=True))
    ways = zip(("predicted", "frozen", "measured"), values, strict=True)
    slot = row_table(
        Table(
            [Column("ablated", names), *(Column(way, effects, 3, EFFECT, signed=True) for way, effects in ways)],
            title="What ablating each node changes (logits): predicted, with patterns and scales held, and measured",
        ),
        epoch=selection.epoch(check.nodes),
        key=selection.widget_key("graph_check_rows"),
    )
    if slot is not None and slot < len(check.nodes) and (node := view.ids[check.nodes[slot]]) != view.node:
        selection.choose(Choices, graph_node=node)
        st.rerun()


def _changes(sides: dict[str, RunGraphView]) -> None:
    """The nodes that are kept in A or in B, with their effects in both."""
    st.caption(f"Nodes of both graphs, aligned as the tokens are; {DIFFERENCE} of their effects on the target.")
    graphs = ((side.graph, side.pruned, side.places) for side in sides.values())
    tables.draw(node_changes(*graphs), f"Effects of nodes in A, in B, and {DIFFERENCE}")


def _of_file(opened: files.OpenFile) -> None:
    """A graph from a file, as it is written there."""
    view = files.view_of(opened, selection.current().choices_of(Choices).graph_node)
    with title_row("A graph from a file", "graph_file", level=1):
        options.row(options.button("graph_close", "Close the file", files.close), options.as_tables(), whole=True)
    st.text(f"{opened.name}: {view.graph.model or 'no model name'}, {', '.join(map(repr, view.graph.tokens))[:300]}")
    _picture(view)
    node_panel.draw_card(view)
    st.text(_spelled(view))
    st.caption("Displayed as saved; not recomputed, so it is not checked.")
    if n_unclear := opened.opened.n_unclear:
        st.caption(
            plain(
                f"{n_unclear} of its links leave an id that a feature of layer 0 and an error share, and nothing in "
                "the file tells whose they are. They are drawn as the error's."
            )
        )
    node_panel.draw_edges(view)
