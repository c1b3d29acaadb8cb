"""One head at one token, step by step."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import View
from headlight.app.pages.inside import exports, view
from headlight.app.pages.inside.choices import Choices

EXPORT = Export("inside", exports.script, exports.data, exports.drawings)

VIEW = View(
    "inside",
    "Head internals",
    view.render,
    lambda: EXPORT,
    choices=Choices,
    of_head="Internals",
    formerly=("head",),
)
