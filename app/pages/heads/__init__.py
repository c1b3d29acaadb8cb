"""Roles of a model's heads, by scores on random repeats or prompts."""

from functools import partial

from headlight.app.exports.export import Export
from headlight.app.frame.view import MODEL, View
from headlight.app.pages.heads import exports, view
from headlight.app.pages.heads.choices import Choices


def export(texts: tuple[str, ...]) -> Export:
    """Exports of the page, with the current list of prompts."""
    return Export(
        "heads",
        partial(exports.script, texts),
        partial(exports.data, texts),
        partial(exports.drawings, texts),
        has_plots=True,
    )


READING = (
    "Each of {heads} heads has a score for every known role, measured on random tokens that are repeated unless you "
    "choose prompts. A role is given from a threshold on: a head may have several, or none that is known. The score "
    "says what a head does with such tokens, and Why says whether that matters to an answer."
)
VIEW = View(
    "heads", "Head roles", view.render, lambda: export(view.texts()), group=MODEL, choices=Choices, reading=READING
)
