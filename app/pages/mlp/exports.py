"""Exports of the page *MLP*: its script, its numbers, and a file of its tables."""

from headlight.app.components import TokenValues
from headlight.app.exports.data import Data, of_sides
from headlight.app.exports.drawings import Drawing, Drawings, table
from headlight.app.exports.script import report
from headlight.app.pages.mlp.charts import neurons
from headlight.app.pages.mlp.neuron_view import find
from headlight.app.parts.pair import said_of_cap
from headlight.app.parts.sides import by_side, named
from headlight.app.selection.chosen import Selection
from headlight.model.neurons.tables import mlp_tables, strip_of, sums_of, values_of
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import neuron_name

PURPOSE = "The neurons at a token: what they read, give and add to a prediction, and one of them in full."
TABLES = {"sums": "What adds up", "weights": "{}: tokens", "heads": "{}: heads"}  # under that of all neurons


def script(comparison: Comparison, chosen: Selection) -> str:
    """Script that prints the first neurons, their sums, and everything about the chosen one."""
    return report(PURPOSE, comparison, chosen.align, "mlp_tables", question=find(comparison, chosen).question)


def data(comparison: Comparison, chosen: Selection) -> Data:
    """Tables of the first neurons and of the chosen one; the measures of all neurons as arrays."""
    view = find(comparison, chosen)
    question = view.question
    arrays = {
        f"{side.replace(' ', '')} {name}": measure
        for sides in (values_of(comparison, question), sums_of(comparison, question))
        for side, measures in sides.items()
        for name, measure in measures.items()
    }
    target, distractor = comparison.a.outputs.labels([question.target, question.distractor])
    shows = {
        "neurons at place": question.place,
        "ranked by": view.ranked_by,
        "of layer": "every layer" if question.layer is None else question.layer,
        "target": {"token id": question.target, "token": target},
        "distractor": {"token id": question.distractor, "token": distractor},
        "neuron": neuron_name(view.neuron),
        "the final norm": "its scale is the run's own",
        "soft cap": said_of_cap(comparison.runs) or None,
    }
    arrays |= of_sides("over the prompt", strip_of(comparison, view.neuron))
    return Data("mlp", shows, mlp_tables(comparison, question), arrays)


def drawings(comparison: Comparison, chosen: Selection) -> Drawings:
    """The first neurons' bars, the chosen neuron's activation at every token, and tables that can be sorted."""
    view = find(comparison, chosen)
    tables, name = mlp_tables(comparison, view.question), neuron_name(view.neuron)
    lines = named(comparison, by_side(strip_of(comparison, view.neuron)), "")
    title, turns = f"activation of {name}", comparison.turns
    strip = TokenValues(comparison.labels, lines, title=title, signed=True, turns=turns)
    sheets = [[table(title.format(name), tables[each])] for each, title in TABLES.items() if any(tables[each].values())]
    rows = [[Drawing(neurons(view))], [Drawing(strip, view.question.place)], *sheets]
    return Drawings(f"MLP neurons, {name}", comparison, rows, note=said_of_cap(comparison.runs))
