"""What is taken along of the page *MLP*: its script, its numbers, and a file of its tables."""

from headlight.app.components import token_values
from headlight.app.components.shared.mount import recorded
from headlight.app.exports.data import Data, of_sides
from headlight.app.exports.html.document import document, file_table
from headlight.app.exports.script import report
from headlight.app.pages.mlp.found import find
from headlight.app.parts.pair import said_of_cap
from headlight.app.parts.sides import by_side, named
from headlight.app.selection.chosen import Selection
from headlight.model.neurons.tables import mlp_tables, strip_of, sums_of, values_of
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import neuron_name

PURPOSE = "The neurons at a token: what they read, give and add to a prediction, and one of them in full."
TABLES = {"sums": "What adds up", "weights": "{}: tokens", "heads": "{}: heads"}  # under that of all neurons


def script(comparison: Comparison, chosen: Selection) -> str:
    """A script that prints the first neurons, what they add up to, and all there is of the chosen one."""
    return report(PURPOSE, comparison, chosen.align, "mlp_tables", asked=find(comparison, chosen).asked)


def data(comparison: Comparison, chosen: Selection) -> Data:
    """Tables of the first neurons and of the chosen one; the measures of all neurons as arrays."""
    found = find(comparison, chosen)
    asked = found.asked
    arrays = {
        f"{side.replace(' ', '')} {name}": measure
        for sides in (values_of(comparison, asked), sums_of(comparison, asked))
        for side, measures in sides.items()
        for name, measure in measures.items()
    }
    target, distractor = comparison.a.tokenizer.labels([asked.target, asked.distractor])
    shows = {
        "neurons at place": asked.place,
        "ranked by": found.ranked_by,
        "of layer": "every layer" if asked.layer is None else asked.layer,
        "target": {"token id": asked.target, "token": target},
        "distractor": {"token id": asked.distractor, "token": distractor},
        "neuron": neuron_name(found.neuron),
        "the final norm": "its scale is the run's own",
        "soft cap": said_of_cap(comparison.runs) or None,
    }
    arrays |= of_sides("over the prompt", strip_of(comparison, found.neuron))
    return Data("mlp", shows, mlp_tables(comparison, asked), arrays)


def page(comparison: Comparison, chosen: Selection) -> bytes:
    """A file whose tables can be sorted, and in which every token tells the neuron's activation."""
    found = find(comparison, chosen)
    tables, name = mlp_tables(comparison, found.asked), neuron_name(found.neuron)
    with recorded() as mounted:
        file_table("Neurons", tables["neurons"])
        lines = named(comparison, by_side(strip_of(comparison, found.neuron)), "")
        title = f"activation of {name}"
        token_values(comparison.labels, lines, title=title, signed=True, chosen=found.asked.place, key="strip")
        for table, called in TABLES.items():
            if any(tables[table].values()):
                file_table(called.format(name), tables[table])
    return document(f"MLP neurons, {name}", comparison, mounted, "plain", note=said_of_cap(comparison.runs))
