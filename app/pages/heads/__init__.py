"""Which head does what in this model, by scores on random repeats or prompts."""

from functools import partial

from headlight.app.exports.export import Export
from headlight.app.frame.view import MODEL, View
from headlight.app.pages.heads import exports, view
from headlight.app.pages.heads.choices import Choices


def export(texts: tuple[str, ...]) -> Export:
    """What the page offers, with the list of prompts as it is now."""
    return Export(
        "heads",
        partial(exports.script, texts),
        partial(exports.data, texts),
        partial(exports.drawings, texts),
        has_plots=True,
    )


VIEW = View("heads", "Head roles", view.render, lambda: export(view.texts()), group=MODEL, choices=Choices)
