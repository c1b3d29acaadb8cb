"""The residual stream: its norm and direction, and what each layer adds to it."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import View
from headlight.app.pages.residual import charts, code, document, numbers, picture, view

EXPORT = Export("residual", code.script, numbers.data, picture.draw, document.page, charts.rows)

VIEW = View("residual", "Residual stream", view.render, lambda: EXPORT)
