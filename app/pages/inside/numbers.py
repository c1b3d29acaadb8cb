"""The page *Head internals* in numbers: what the query makes of every key, and every vector on the way."""

from collections.abc import Mapping

from headlight.app.exports.data import Data
from headlight.app.pages.inside.chosen import Inside, query_of, sides_of
from headlight.app.parts.first_heads import head_of
from headlight.app.selection.chosen import Selection
from headlight.model.analysis import Measure
from headlight.model.comparison import Comparison
from headlight.model.edits import head_name
from headlight.model.reports.inside import head_tables


def data(shown: Comparison, chosen: Selection) -> Data:
    """Every key's row of numbers, the components of q, k, v and z, and the entries of the stream."""
    sides = sides_of(shown, chosen)
    shows = {
        "head": head_name(head_of(shown, chosen)),
        "query is at place": query_of(shown, chosen),
        "k and v are of the key at position": {side: at.key for side, at in sides.items()},
        "scores are divided by": {side: at.weights.attn_scale for side, at in sides.items()},
    }
    return Data("inside", shows, head_tables(shown, sides), _arrays(sides))


def _arrays(sides: Mapping[str, Inside]) -> dict[str, Measure]:
    """Each run's measures, all keys and all positions, under their names in `HeadSteps`."""
    arrays = {}
    for side, at in sides.items():
        steps = at.steps
        measures = {field: value for field, value in vars(steps).items() if isinstance(value, Measure)}
        for field, measure in (measures | {"read": steps.read}).items():
            arrays[f"{side} {field}"] = measure
    return arrays
