"""Which head does what in this model, by scores on random repeats or prompts."""

from functools import partial

from headlight.app.exports.export import Export
from headlight.app.frame.view import MODEL, View
from headlight.app.pages.heads import charts, code, document, numbers, picture, view
from headlight.app.pages.heads.choices import Choices


def export(texts: tuple[str, ...]) -> Export:
    """What the page offers, with the list of prompts as it is now."""
    return Export(
        "heads",
        partial(code.script, texts),
        partial(numbers.data, texts),
        partial(picture.draw, texts),
        partial(document.page, texts),
        partial(charts.of, texts),
    )


VIEW = View("heads", "Head roles", view.render, lambda: export(view.texts()), group=MODEL, choices=Choices)
