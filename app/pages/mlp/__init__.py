"""The neurons of the MLPs: which are active at a token and matter for its prediction, and one of them in full."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import BELOW, View
from headlight.app.pages.mlp import exports, view
from headlight.app.pages.mlp.choices import Choices
from headlight.app.parts import needs

EXPORT = Export("mlp", exports.script, exports.data, exports.drawings, has_plots=True)

VIEW = View("mlp", "MLP", view.render, lambda: EXPORT, needs.neurons, group=BELOW, choices=Choices)
