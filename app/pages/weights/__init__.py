"""A head without any prompt: its circuits, read from the weights."""

from headlight.app import selection
from headlight.app.exports.export import Export
from headlight.app.frame.view import MODEL, View
from headlight.app.pages.weights import exports, view
from headlight.app.pages.weights.choices import Choices
from headlight.app.runs import comparisons

EXPORT = Export("weights", exports.script, exports.data, exports.drawings)


def export() -> Export | None:
    """The weights' tables, once all pairs were searched."""
    return EXPORT if view.is_complete(comparisons.for_selection(selection.current())) else None


VIEW = View("weights", "Weights", view.render, export, group=MODEL, choices=Choices, of_head="Weights")
