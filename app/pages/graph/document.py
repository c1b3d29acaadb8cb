"""The page *Graph* as a file: nodes, edges and the check in tables that can be sorted."""

from headlight.app.components.shared.mount import recorded
from headlight.app.exports.html.document import document
from headlight.app.exports.html.file_table import file_table
from headlight.app.pages.graph.numbers import data
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison

TITLES = {
    "target": "What is explained",
    "nodes": "Nodes, the most influential first",
    "edges": "Edges, those with the largest effect on the target first",
    "check": "Ablated: predicted and measured",
    "runs": "What the circuit does",
}


def page(shown: Comparison, chosen: Selection) -> bytes:
    """A file with every node and edge that is kept."""
    tables = data(shown, chosen).tables
    with recorded() as mounted:
        for name, title in TITLES.items():
            if name in tables and next(iter(tables[name].values())):
                file_table(title, tables[name])
    return document("Graph", shown, mounted, "plain")
