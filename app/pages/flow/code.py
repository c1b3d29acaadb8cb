"""The script of the flow page."""

from headlight.app.exports.script import report
from headlight.app.pages.flow.choices import Choices
from headlight.app.parts.pair import place_of
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison

PURPOSE = "What a token's last state was made of: the information flow."


def script(shown: Comparison, chosen: Selection) -> str:
    """A script that prints the nodes, the edges and the heads of each run's graph, and how they change from A to B."""
    start, threshold = place_of(shown, chosen), chosen.of(Choices).flow_threshold
    return report(PURPOSE, shown, chosen.align, "flow_tables", place=start, threshold=threshold)
