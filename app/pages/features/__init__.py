"""Features of a dictionary in a prompt: their activations, the reconstruction error, and one in full."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import BELOW, View
from headlight.app.pages.features import exports, view

EXPORT = Export("features", exports.script, exports.data, exports.drawings)

VIEW = View("features", "Features", view.render, lambda: EXPORT if view.is_open() else None, group=BELOW)
