"""Activation patching: which activations carry the difference between two prompts."""

from headlight.app import selection
from headlight.app.exports.export import Export
from headlight.app.frame.view import EXPLAIN, View
from headlight.app.pages.patching import exports, view
from headlight.app.pages.patching.choices import Choices
from headlight.app.parts import needs
from headlight.app.runs import comparisons

EXPORT = Export("patching", exports.script, exports.data, exports.drawings)


def export() -> Export | None:
    """The map of patches, once it is there."""
    return EXPORT if view.is_complete(comparisons.for_selection(selection.current())) else None


READING = (
    "A cell is one part of run B, put alone into run A: here any of {heads} heads, or of {layers} layers by token. "
    "Nought means that A’s answer, {output} ({chance}), stays; one means that it becomes B’s. Large cells carry what "
    "differs between the two prompts."
)
VIEW = View("patching", "Patching", view.render, export, needs.logits, group=EXPLAIN, choices=Choices, reading=READING)
