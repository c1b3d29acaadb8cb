"""Explanation of an attention cell: its score, its write, ablations, and the sources of the prediction."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import EXPLAIN, View
from headlight.app.pages.why import exports, view
from headlight.app.pages.why.choices import Choices
from headlight.app.parts import needs

EXPORT = Export("why", exports.script, exports.data, exports.drawings, has_plots=True)

READING = (
    "The bars part the lead of the target, in logits, into what each of {heads} heads and {layers} MLPs adds to it by "
    "itself; the model predicts {output} ({chance}). Below them one head is explained: which pairs of parts made it "
    "look there, and what it writes. Later parts may change what a head has written, so the last section runs the "
    "model without it."
)
READING_OF_BODY = (
    "The map parts one attention score into pairs: a part of the query's stream with a part of the key's. Its cells "
    "add up to the score, with the scales of norms as they are in this run. A large cell says what the score is made "
    "of here, and not what would be without that part."
)
VIEW = View(
    "why",
    "Why",
    view.render,
    lambda: EXPORT,
    needs.explained,
    group=EXPLAIN,
    choices=Choices,
    of_head="Why",
    reading=READING,
    reading_of_body=READING_OF_BODY,
)
