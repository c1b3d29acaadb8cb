"""The model goes on with the prompt, token by token."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import WRITE, View
from headlight.app.pages.generate import charts, code, document, numbers, picture, view
from headlight.app.pages.generate.choices import Choices

EXPORT = Export("generate", code.script, numbers.data, picture.draw, document.page, charts.of)

VIEW = View("generate", "Generate", view.render, lambda: EXPORT, view.needs, group=WRITE, choices=Choices)
