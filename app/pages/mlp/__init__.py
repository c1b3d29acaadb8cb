"""The neurons of the MLPs: which are active at a token and matter for its prediction, and one of them in full."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import BELOW, View
from headlight.app.pages.mlp import charts, exports, picture, view
from headlight.app.pages.mlp.choices import Choices
from headlight.app.parts import needs

EXPORT = Export("mlp", exports.script, exports.data, picture.draw, exports.page, charts.rows_for)

VIEW = View("mlp", "MLP", view.render, lambda: EXPORT, needs.neurons, group=BELOW, choices=Choices)
