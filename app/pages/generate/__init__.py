"""The model goes on with the prompt, token by token."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import WRITE, View
from headlight.app.pages.generate import exports, view
from headlight.app.pages.generate.choices import Choices

EXPORT = Export("generate", exports.script, exports.data, exports.drawings, has_plots=True)

READING = (
    "The model continues {last} with {output}, at {chance}, and goes on from there. Each token that is written has "
    "its probability, and what else was likely stands below it. Choose a token to see where the heads looked when it "
    "was written."
)
VIEW = View(
    "generate", "Generate", view.render, lambda: EXPORT, view.needs, group=WRITE, choices=Choices, reading=READING
)
