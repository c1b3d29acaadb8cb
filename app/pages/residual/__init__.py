"""Residual stream: its norm and direction, and the write of each layer."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import View
from headlight.app.pages.residual import exports, view

EXPORT = Export("residual", exports.script, exports.data, exports.drawings, has_plots=True)

VIEW = View("residual", "Residual stream", view.render, lambda: EXPORT)
