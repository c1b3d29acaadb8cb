"""The flow page as a file: the graphs of the runs and of the change, which tell their numbers and first heads."""

from app.components import FlowChoice
from app.components.shared.mount import recorded
from app.exports.numbers.flow import graphs
from app.exports.pages.document import document
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.flows.chosen import change_in, chosen_in, start_of
from app.views.flows.graph import draw, draw_change


def page(shown: Shown, chosen: Selection) -> bytes:
    """A file with the graphs of A and, with a B, of B and of the change under it."""
    with recorded() as mounted:
        for side, graph in graphs(shown, chosen).items():
            choice = FlowChoice(graph.start.position, chosen_in(shown, side, chosen))
            draw(shown, side, graph, choice, epoch=0, key=f"flow {side}", in_file=True)
        if (change := change_in(shown, chosen)) is not None:
            choice = FlowChoice(start_of(shown, chosen), chosen.flow_chosen)
            draw_change(shown, change, choice, epoch=0, key="flow B - A", in_file=True)
    return document("Information flow", shown, mounted, "plain")
