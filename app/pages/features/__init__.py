"""Features of a dictionary in a prompt: their activations, the reconstruction error, and one in full."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import BELOW, View
from headlight.app.pages.features import exports, view

EXPORT = Export("features", exports.script, exports.data, exports.drawings)

READING = (
    "A feature is a direction in the model’s {d_model} numbers, one of many that a dictionary has learned. The list "
    "has those that are active on the prompt’s {tokens} tokens, and how strongly. Of the chosen one stand below what "
    "made it active, what it promotes and which heads read it; what the dictionary misses is its error."
)
VIEW = View(
    "features", "Features", view.render, lambda: EXPORT if view.is_open() else None, group=BELOW, reading=READING
)
