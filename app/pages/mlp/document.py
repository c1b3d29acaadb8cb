"""The page *MLP* as a file: the first neurons, what they add up to, and the chosen one's tokens and heads."""

from headlight.app.components import token_values
from headlight.app.components.shared.mount import recorded
from headlight.app.exports.html.document import document
from headlight.app.exports.html.file_table import file_table
from headlight.app.pages.mlp.found import find
from headlight.app.parts.sides import by_side, named
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.edits import neuron_name
from headlight.model.reports.mlp import mlp_tables, strip_of

TABLES = {"neurons": "Neurons", "sums": "What adds up", "weights": "{}: tokens", "heads": "{}: heads"}


def page(shown: Comparison, chosen: Selection) -> bytes:
    """A file whose tables can be sorted, and in which every token tells the neuron's activation."""
    found = find(shown, chosen)
    tables, name = mlp_tables(shown, found.asked), neuron_name(found.neuron)
    with recorded() as mounted:
        file_table("Neurons", tables["neurons"])
        lines = named(shown, by_side(strip_of(shown, found.neuron)), "")
        title = f"activation of {name}"
        token_values(shown.labels, lines, title=title, signed=True, chosen=found.asked.place, key="strip")
        for table in ("sums", "weights", "heads"):
            if any(tables[table].values()):
                file_table(TABLES[table].format(name), tables[table])
    return document(f"MLP neurons, {name}", shown, mounted, "plain")
