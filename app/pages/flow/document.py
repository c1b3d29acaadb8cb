"""The flow page as a file: the graphs of the runs and of the change, which tell their numbers and first heads."""

from headlight.app.components import FlowChoice
from headlight.app.components.shared.mount import recorded
from headlight.app.exports.html.document import document
from headlight.app.pages.flow.choices import Choices
from headlight.app.pages.flow.chosen import change_in, chosen_in
from headlight.app.pages.flow.graph import draw, draw_change
from headlight.app.pages.flow.numbers import graphs
from headlight.app.parts.pair import place_of
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison


def page(shown: Comparison, chosen: Selection) -> bytes:
    """A file with the graphs of A and, with a B, of B and of the change under it."""
    with recorded() as mounted:
        for side, graph in graphs(shown, chosen).items():
            choice = FlowChoice(graph.start.position, chosen_in(shown, side, chosen))
            draw(shown, side, graph, choice, epoch=0, key=f"flow {side}", in_file=True)
        if (change := change_in(shown, chosen)) is not None:
            choice = FlowChoice(place_of(shown, chosen), chosen.of(Choices).flow_chosen)
            draw_change(shown, change, choice, epoch=0, key="flow B - A", in_file=True)
    return document("Information flow", shown, mounted, "plain")
