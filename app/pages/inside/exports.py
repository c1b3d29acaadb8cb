"""Exports of the page *Head internals*: its script, its numbers, and a file of every step."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

from headlight.app.components import HeadSteps
from headlight.app.exports.data import Data
from headlight.app.exports.drawings import Drawings, on_paper
from headlight.app.exports.script import report
from headlight.app.figures.text import token_name
from headlight.app.pages.inside.choices import Choices, Inside, key_of, query_of, sides_of
from headlight.app.pages.inside.view import described, for_file
from headlight.app.parts.first_heads import head_of
from headlight.app.parts.labels import said_of_heads
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.selection.chosen import Selection
from headlight.model.attention.inside_tables import head_tables
from headlight.model.measure import Measure
from headlight.model.measure.difference import union
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name


def script(comparison: Comparison, chosen: Selection) -> str:
    """Script that prints a query's scores and weights, and the vectors on the way."""
    layer, head = head_of(comparison, chosen)
    places = {"query": query_of(comparison, chosen), "key": key_of(chosen)}
    purpose = f"Every step of head {head} of layer {layer} at one query."
    return report(purpose, comparison, chosen.align, "inside_tables", head=(layer, head), **places)


def data(comparison: Comparison, chosen: Selection) -> Data:
    """Every key's row of numbers, the components of q, k, v and z, and the entries of the stream."""
    sides = sides_of(comparison, chosen)
    shows = {
        "head": head_name(head_of(comparison, chosen)),
        "query is at place": query_of(comparison, chosen),
        "k and v are of the key at position": {side: at.key for side, at in sides.items()},
        "scores are divided by": {side: at.weights.attn_scale for side, at in sides.items()},
    }
    return Data("inside", shows, head_tables(comparison, sides), _arrays(sides))


def _arrays(sides: Mapping[str, Inside]) -> dict[str, Measure]:
    """Each run's measures, all keys and all positions, under their names in `HeadSteps`."""
    arrays = {}
    for side, at in sides.items():
        steps = at.steps
        measures = {field: value for field, value in vars(steps).items() if isinstance(value, Measure)}
        for field, measure in (measures | {"read": steps.read}).items():
            arrays[f"{side} {field}"] = measure
    return arrays


def drawings(comparison: Comparison, chosen: Selection) -> Drawings:
    """Matrices of every step; the detailed arithmetic is of the chosen key and component."""
    sides, convention = sides_of(comparison, chosen), chosen.choices_of(Choices).convention
    names = [*sides, *([DIFFERENCE] if len(sides) == 2 else [])]
    titles = {side: "" if comparison.b is None else side for side in names}
    steps = _aligned([described(comparison, sides, side, "row", titles[side])[0] for side in names])
    rows = [
        [for_file(comparison, sides, side, convention) for side in names],
        [on_paper(each) for each in steps],
    ]
    place, head = query_of(comparison, chosen), head_of(comparison, chosen)
    title = f"Inside {head_name(head)} at {token_name(comparison.labels[place], place)}, place {place},"
    return Drawings(title, comparison, rows, roles=said_of_heads(comparison, chosen, [head]))


def _aligned(sides: Sequence[HeadSteps]) -> list[HeadSteps]:
    """The sides with a row for each step that any of them takes; one that a side does not take leaves its room."""
    terms = reduce(union, (tuple(step.term for step in side.steps) for side in sides))
    room = {step.term: replace(step, title="") for side in sides for step in side.steps}
    own = ({step.term: step for step in side.steps} for side in sides)
    return [
        replace(side, steps=[steps.get(term, room[term]) for term in terms])
        for side, steps in zip(sides, own, strict=True)
    ]
