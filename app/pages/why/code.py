"""The script of the page *Why*."""

from headlight.app.exports.script import report
from headlight.app.pages.why.chosen import asked_of
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison


def script(shown: Comparison, chosen: Selection) -> str:
    """A script that prints a cell's score in parts, its write, what cutting it changes, and who made the prediction."""
    asked = asked_of(shown, chosen)
    layer, head = asked.head
    purpose = f"Why head {head} of layer {layer} looks there, and what of it."
    return report(purpose, shown, chosen.align, "why_tables", asked=asked)
