"""The page *MLP* in numbers: every neuron's measures at the token, and one neuron in full."""

from headlight.app.exports.data import Data, of_sides
from headlight.app.pages.mlp.found import find
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.edits import neuron_name
from headlight.model.reports.mlp import mlp_tables, strip_of, sums_of, values_of


def data(shown: Comparison, chosen: Selection) -> Data:
    """Tables of the first neurons and of the chosen one; the measures of all neurons as arrays."""
    found = find(shown, chosen)
    asked = found.asked
    arrays = {
        f"{side.replace(' ', '')} {name}": measure
        for sides in (values_of(shown, asked), sums_of(shown, asked))
        for side, measures in sides.items()
        for name, measure in measures.items()
    }
    target, distractor = shown.a.tokenizer.labels([asked.target, asked.distractor])
    shows = {
        "neurons at place": asked.place,
        "ranked by": found.ranked_by,
        "of layer": "every layer" if asked.layer is None else asked.layer,
        "target": {"token id": asked.target, "token": target},
        "distractor": {"token id": asked.distractor, "token": distractor},
        "neuron": neuron_name(found.neuron),
        "the final norm": "its scale is the run's own",
    }
    return Data(
        "mlp", shows, mlp_tables(shown, asked), arrays | of_sides("over the prompt", strip_of(shown, found.neuron))
    )
