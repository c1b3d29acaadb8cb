"""Heads over a whole corpus: a scan, one head's dashboard, two scans beside each other."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import MODEL, View
from headlight.app.pages.corpus import exports, view
from headlight.app.pages.corpus.choices import Choices

EXPORT = Export("corpus", exports.script, exports.data, exports.drawings, has_plots=True)

VIEW = View(
    "corpus",
    "Corpus",
    view.render,
    lambda: EXPORT if view.is_open() else None,
    group=MODEL,
    choices=Choices,
    of_head="Corpus",
)
