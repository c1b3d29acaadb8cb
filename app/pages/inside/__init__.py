"""One head at one token, step by step."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import View
from headlight.app.pages.inside import exports, view
from headlight.app.pages.inside.choices import Choices

EXPORT = Export("inside", exports.script, exports.data, exports.drawings)

READING = (
    "One head at one of {tokens} tokens, from top to bottom: each step takes what the step above has made. The "
    "token’s vector of {d_model} numbers becomes a query of {d_head}, which is compared with the keys of the tokens "
    "before it. The softmax makes weights of these scores, and the values times their weights are what the head "
    "writes."
)
VIEW = View(
    "inside",
    "Head internals",
    view.render,
    lambda: EXPORT,
    choices=Choices,
    of_head="Internals",
    formerly=("head",),
    reading=READING,
)
