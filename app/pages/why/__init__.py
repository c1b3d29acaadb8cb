"""Why a head looks there, what it writes, whether that matters, and who made the prediction."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import EXPLAIN, View
from headlight.app.pages.why import charts, code, document, numbers, picture, view
from headlight.app.pages.why.choices import Choices
from headlight.app.parts import needs

EXPORT = Export("why", code.script, numbers.data, picture.draw, document.page, charts.of)

VIEW = View("why", "Why", view.render, lambda: EXPORT, needs.attribution, group=EXPLAIN, choices=Choices)
