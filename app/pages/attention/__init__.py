"""Every head of every layer: where each token looks."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import View
from headlight.app.pages.attention import exports, view
from headlight.app.pages.attention.choices import Choices

EXPORT = Export("attention", exports.script, exports.data, exports.drawings)

READING = (
    "Each small picture is one of {heads} heads: a row is a token that looks, a column a token that it looks at, and a "
    "strong colour a large weight. The weights of a row add up to one, so a head that finds nothing rests somewhere, "
    "often on the first of the {tokens} tokens. The lines over the text are one row of the first chosen head, and the "
    "token that you point at says which."
)
VIEW = View(
    "attention", "Attention", view.render, lambda: EXPORT, choices=Choices, of_head="Attention", reading=READING
)
