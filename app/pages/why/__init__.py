"""Explanation of an attention cell: its score, its write, ablations, and the sources of the prediction."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import EXPLAIN, View
from headlight.app.pages.why import exports, view
from headlight.app.pages.why.choices import Choices
from headlight.app.parts import needs

EXPORT = Export("why", exports.script, exports.data, exports.drawings, has_plots=True)

VIEW = View("why", "Why", view.render, lambda: EXPORT, needs.logits, group=EXPLAIN, choices=Choices, of_head="Why")
