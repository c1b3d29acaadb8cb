"""Which head does what in this model, by scores on random repeats or prompts."""

from headlight.app.exports.export import Export, export_of
from headlight.app.frame.view import MODEL, View
from headlight.app.pages.heads import charts, exports, picture, view
from headlight.app.pages.heads.choices import Choices


def export(texts: tuple[str, ...]) -> Export:
    """What the page offers, with the list of prompts as it is now."""
    return export_of(texts, "heads", exports.script, exports.data, picture.draw, exports.page, charts.rows_for)


VIEW = View("heads", "Head roles", view.render, lambda: export(view.texts()), group=MODEL, choices=Choices)
