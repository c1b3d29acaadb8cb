"""The residual stream: its norm and direction, and what each layer adds to it."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import View
from headlight.app.pages.residual import charts, exports, picture, view

EXPORT = Export("residual", exports.script, exports.data, picture.draw, exports.page, charts.rows)

VIEW = View("residual", "Residual stream", view.render, lambda: EXPORT)
