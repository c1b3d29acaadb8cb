"""Exports of the page *Graph*: its script, its numbers, and a file of its tables."""

from headlight.app.exports.data import Data
from headlight.app.exports.drawings import Drawing, Drawings, table
from headlight.app.exports.script import report
from headlight.app.figures.graph import graph
from headlight.app.pages.graph.choices import Choices
from headlight.app.pages.graph.circuit import arguments_of
from headlight.app.pages.graph.graph_view import NEURONS, aim_of, opened_of, settings_of, sides_of, units_of
from headlight.app.pages.graph.plot import scenes
from headlight.app.parts.pair import place_of, said_of_cap
from headlight.app.selection.chosen import Selection
from headlight.model.circuits.of_runs import circuit_of
from headlight.model.circuits.tables import edge_tables
from headlight.model.graph.tables import GraphSettings, graph_tables
from headlight.model.measure import Measure
from headlight.model.runs.comparison import Comparison

TITLES = {
    "target": "What is explained",
    "nodes": "Nodes, the most influential first",
    "edges": "Edges, those with the largest effect on the target first",
    "check": "Ablated: predicted and measured",
    "runs": "What the circuit does",
}
PURPOSE = "What a prediction was made of: the attribution graph, and whether it holds."

CIRCUIT = (
    "The circuit of a prediction, against another prompt's or against means: every edge scored, and what it does alone."
)


def script(comparison: Comparison, chosen: Selection) -> str:
    """Script that prints the graph of each run and the effects of ablating its nodes, or the circuit."""
    own = chosen.choices_of(Choices)
    if own.graph_mode == "circuit":
        return report(CIRCUIT, comparison, chosen.align, "edge_tables", **arguments_of(comparison, chosen))
    units, aim = units_of(comparison, chosen), aim_of(comparison, chosen, 0)
    options = {
        "place": place_of(comparison, chosen),
        "target": aim.token,
        "distractor": aim.distractor,
        "demeaned": aim.distractor is None,
        "settings": settings_of(chosen),
    }
    dictionary = "" if units == NEURONS else units
    return report(PURPOSE, comparison, chosen.align, "graph_tables", dictionary, **options)


def data(comparison: Comparison, chosen: Selection) -> Data:
    """The tables, and of each run the edges between all nodes, their effects and influence, kept or not."""
    if chosen.choices_of(Choices).graph_mode == "circuit":
        return _circuit(comparison, chosen)
    aim, settings = aim_of(comparison, chosen, 0), settings_of(chosen)
    place, opened = place_of(comparison, chosen), opened_of(comparison, chosen)
    tables = graph_tables(comparison, place, aim.token, aim.distractor, aim.distractor is None, settings, opened)
    arrays: dict[str, Measure] = {}
    for side, view in sides_of(comparison, chosen).items():
        arrays |= {
            f"{side} edges": Measure("edge", "activation", ("followed", "node"), view.graph.edges),
            f"{side} effects": Measure("effect on the target", "logits", ("node",), view.graph.effects),
            f"{side} influence": Measure("influence", "share", ("node",), view.pruned.influence),
        }
    shows = {"place": place, "units": units_of(comparison, chosen), **_told(settings)}
    shows["soft cap"] = said_of_cap(comparison.runs) or None
    groups = {name: list(ids) for name, ids in chosen.choices_of(Choices).graph_groups}
    return Data("graph", shows | ({"groups": groups} if groups else {}), tables, arrays)


def _circuit(comparison: Comparison, chosen: Selection) -> Data:
    own = chosen.choices_of(Choices)
    arguments = arguments_of(comparison, chosen)
    tables, scored = edge_tables(comparison, **arguments), circuit_of(comparison, **arguments)
    arrays = {
        "scores": Measure("score", "logits", ("receiver", "sender"), scored.scores),
        "circuit": Measure("in the circuit", "share", ("receiver", "sender"), scored.circuit.edges.float()),
    }
    shows = {
        "senders": [each.name for each in scored.wires.senders],
        "receivers": [each.name for each in scored.wires.receivers],
        "least score (share of the largest)": own.circuit_least,
        "most edges": own.circuit_most,
        "method": own.circuit_method,
        "gradients": own.circuit_steps,
        "held against": arguments["against"],
    }
    return Data("graph", shows, tables, arrays)


def _told(settings: GraphSettings) -> dict[str, object]:
    return {
        "heads folded into edges": settings.folded,
        "most nodes": settings.most,
        "share of nodes' influence": settings.nodes,
        "share of edges' influence": settings.edges,
    }


def drawings(comparison: Comparison, chosen: Selection) -> Drawings:
    """The graph as the page draws it, and every node and edge that is kept."""
    tables = data(comparison, chosen).tables
    sheets = [
        [table(title, tables[name])]
        for name, title in TITLES.items()
        if name in tables and next(iter(tables[name].values()))
    ]
    plots = [[Drawing(graph(scene))] for scene in scenes(comparison, chosen)]
    return Drawings("Graph", comparison, [*plots, *sheets], note=said_of_cap(comparison.runs))
