"""The flow page as a file: the graph of each run, which tells its numbers and its lines' first heads."""

from app.components import FlowChoice
from app.components.shared.mount import recorded
from app.exports.numbers.flow import graphs
from app.exports.pages.document import document
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.flow import chosen_in, draw


def page(shown: Shown, chosen: Selection) -> bytes:
    """A file with the graphs of A and, with a B, of B under it."""
    with recorded() as mounted:
        for side, graph in graphs(shown, chosen).items():
            choice = FlowChoice(graph.start.position, chosen_in(shown, side, chosen))
            draw(shown, side, graph, choice, epoch=0, key=f"flow {side}", in_file=True)
    return document("Information flow", shown, mounted, "plain")
