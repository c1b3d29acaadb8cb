"""Attribution graph: the paths to a prediction through tokens, heads' writes, and neurons or features."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import BELOW, View
from headlight.app.pages.graph import exports, view
from headlight.app.pages.graph.choices import Choices
from headlight.app.pages.graph.graph_view import needs

EXPORT = Export("graph", exports.script, exports.data, exports.drawings, has_plots=True)

VIEW = View("graph", "Graph", view.render, lambda: EXPORT, needs, group=BELOW, choices=Choices)
