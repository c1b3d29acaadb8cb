"""Heads over a whole corpus: a scan, one head's dashboard, two scans beside each other."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import MODEL, View
from headlight.app.pages.corpus import exports, view
from headlight.app.pages.corpus.choices import Choices
from headlight.app.pages.corpus.scan_view import names_heads

EXPORT = Export("corpus", exports.script, exports.data, exports.drawings, has_plots=True)

READING = (
    "Each head of the scanned model is a point, by any two figures over a whole corpus and not by one prompt of "
    "{tokens} tokens. Choose one for its dashboard: where it looks, on which texts, and the loss without it. Figures "
    "are means over all positions, so a head that does one thing rarely shows little of it."
)
VIEW = View(
    "corpus",
    "Corpus",
    view.render,
    lambda: EXPORT if view.is_open() else None,
    group=MODEL,
    choices=Choices,
    of_head="Corpus",
    names_heads=names_heads,
    reading=READING,
)
