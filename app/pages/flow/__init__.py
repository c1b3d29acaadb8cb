"""Information flow: the tokens, heads and MLPs that contributed to a state."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import EXPLAIN, View
from headlight.app.pages.flow import exports, view
from headlight.app.pages.flow.choices import Choices
from headlight.model.flow.run_flow import no_flow
from headlight.model.runs.comparison import Comparison

EXPORT = Export("flow", exports.script, exports.data, exports.drawings)

READING = (
    "A line is what a state took from another, and its width is its share: the shares into a node add up to one. "
    "Followed down from {last}, which predicts {output} ({chance}), the widest lines lead to the tokens and layers "
    "that it was made of. A share is no cause: nothing is run again, and a small one can matter."
)


def needs(comparison: Comparison) -> str:
    """Require layers whose every part is a node."""
    return next(filter(None, map(no_flow, comparison.runs)), "")


VIEW = View(
    "flow", "Information flow", view.render, lambda: EXPORT, needs, group=EXPLAIN, choices=Choices, reading=READING
)
