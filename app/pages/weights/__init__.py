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


READING = (
    "These numbers are of the head’s weights alone and hold for every prompt. QK scores a token as query with a token "
    "as key, out of {vocabulary}, and OV is what attending to a token adds to each logit. Both are maps of {d_model} "
    "by {d_model} numbers with at most {d_head} directions, the strongest of which are read as tokens."
)
VIEW = View("weights", "Weights", view.render, export, group=MODEL, choices=Choices, of_head="Weights", reading=READING)
