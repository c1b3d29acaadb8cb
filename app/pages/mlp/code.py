"""The script of the page *MLP*."""

from headlight.app.exports.script import report
from headlight.app.pages.mlp.found import find
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison

PURPOSE = "The neurons at a token: what they read, give and add to a prediction, and one of them in full."


def script(shown: Comparison, chosen: Selection) -> str:
    """A script that prints the first neurons, what they add up to, and all there is of the chosen one."""
    return report(PURPOSE, shown, chosen.align, "mlp_tables", asked=find(shown, chosen).asked)
