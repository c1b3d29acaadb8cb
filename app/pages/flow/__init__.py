"""Information flow: the tokens, heads and MLPs that contributed to a state."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import EXPLAIN, View
from headlight.app.pages.flow import exports, view
from headlight.app.pages.flow.choices import Choices

EXPORT = Export("flow", exports.script, exports.data, exports.drawings)

VIEW = View("flow", "Information flow", view.render, lambda: EXPORT, group=EXPLAIN, choices=Choices)
