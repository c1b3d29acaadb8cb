"""The script of the page *Graph*."""

from headlight.app.exports.script import call, imports_of, opening, report, runs_made, written
from headlight.app.pages.graph.choices import Choices
from headlight.app.pages.graph.circuit import against_of, measured_of
from headlight.app.pages.graph.found import NEURONS, aim_of, settings_of, units_of
from headlight.app.parts.pair import place_of
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison

PURPOSE = "What a prediction was made of: the attribution graph, and whether it holds."

CIRCUIT = (
    "The circuit of a prediction, against another prompt's or against means: every edge scored, and what it does alone."
)


def script(shown: Comparison, chosen: Selection) -> str:
    """A script that prints the graph of each run and what ablating its nodes does, or the circuit."""
    own = chosen.of(Choices)
    if own.graph_mode == "circuit":
        asked: dict[str, object] = {"measured": measured_of(shown, chosen), "against": against_of(shown, chosen)}
        asked |= {"steps": own.circuit_steps, "least": own.circuit_least}
        return report(CIRCUIT, shown, chosen.align, "edge_tables", **asked)
    units, aim = units_of(shown, chosen), aim_of(shown, chosen, 0)
    imports = {
        **imports_of(shown),
        "headlight.model.reports": {"graph_tables", "print_tables"},
        "headlight.model.reports.graph": {"Settings"},
    }
    options = {
        "place": place_of(shown, chosen),
        "target": aim.token,
        "distractor": aim.distractor,
        "demeaned": aim.distractor is None,
        "settings": settings_of(chosen),
    }
    arguments = {name: repr(value) for name, value in options.items()}
    lines = runs_made(shown, chosen.align)
    if units != NEURONS:
        imports["headlight.model.dictionaries.opening"] = {"open_dictionary"}
        lines.append(f"opened = {opening(units, 'model')}")
        arguments["opened"] = "opened"
    return written(PURPOSE, imports, [*lines, f"print_tables({call('graph_tables', 'shown', **arguments)})"])
