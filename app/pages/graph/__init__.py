"""Attribution graph: the paths to a prediction through tokens, heads' writes, and neurons or features."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import BELOW, View
from headlight.app.pages.graph import exports, view
from headlight.app.pages.graph.choices import Choices
from headlight.app.pages.graph.graph_view import needs

EXPORT = Export("graph", exports.script, exports.data, exports.drawings, has_plots=True)

READING = (
    "A node is an active part of the model, and a line what it adds to another: from {tokens} tokens below to "
    "{output} ({chance}) above. Only the nodes that count for the answer are kept, with lines as wide as their "
    "effects. What the graph leaves out stands beside it as an error, and Check by ablation tests a node."
)
VIEW = View("graph", "Graph", view.render, lambda: EXPORT, needs, group=BELOW, choices=Choices, reading=READING)
