"""The script of the residual page."""

from headlight.app.exports.script import report
from headlight.app.parts.pair import place_of
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison

PURPOSE = "The residual stream: how long it is, where it turns, and who writes it."


def script(shown: Comparison, chosen: Selection) -> str:
    """A script that prints the stream's norms and cosines, and the components at the place looked at."""
    return report(PURPOSE, shown, chosen.align, "residual_tables", place=place_of(shown, chosen))
