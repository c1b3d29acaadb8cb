"""One head at one token, step by step."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import View
from headlight.app.pages.inside import code, document, numbers, picture, view
from headlight.app.pages.inside.choices import Choices

EXPORT = Export("inside", code.script, numbers.data, picture.draw, document.page)

VIEW = View("inside", "Head internals", view.render, lambda: EXPORT, choices=Choices, formerly=("head",))
