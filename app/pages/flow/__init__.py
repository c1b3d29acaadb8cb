"""Information flow: which tokens, heads and MLPs a state was made of."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import EXPLAIN, View
from headlight.app.pages.flow import code, document, numbers, picture, view
from headlight.app.pages.flow.choices import Choices

EXPORT = Export("flow", code.script, numbers.data, picture.draw, document.page)

VIEW = View("flow", "Information flow", view.render, lambda: EXPORT, group=EXPLAIN, choices=Choices)
