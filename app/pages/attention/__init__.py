"""Every head of every layer: where each token looks."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import View
from headlight.app.pages.attention import exports, view
from headlight.app.pages.attention.choices import Choices

EXPORT = Export("attention", exports.script, exports.data, exports.drawings)

VIEW = View("attention", "Attention", view.render, lambda: EXPORT, choices=Choices, of_head="Attention")
