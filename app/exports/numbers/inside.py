"""The page *Inside one head* in numbers: what the query makes of every key, and every vector on the way."""

from collections.abc import Mapping

import numpy as np
import torch

from app.csv_files import Cell
from app.exports.numbers.data import Data, Table
from app.exports.numbers.residual import positions_of
from app.exports.numbers.sides import DIFFERENCE, columns, number, tokens_table
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.parts import name
from app.views.sides import DIFFERENCE as SHOWN_DIFFERENCE
from app.views.steps.chosen import Inside, head_of, query_of, sides_of
from app.views.steps.tables import Columns, by_component, by_entry, by_key, with_difference
from model.analysis import Measure


def data(shown: Shown, chosen: Selection) -> Data:
    """Every key's row of numbers, the components of q, k, v and z, and the entries of the stream."""
    sides = sides_of(shown, chosen)
    tables: dict[str, Table] = {
        "tokens": tokens_table({side: run.labels for side, run in shown.sides.items()}, positions_of(shown)),
        "keys": _table("place", by_key(shown, sides)),
        "components": _table("component", by_component(sides)),
        "entries": _table("entry", by_entry(sides)),
    }
    shows = {
        "head": name(head_of(shown, chosen)),
        "query is at place": query_of(shown, chosen),
        "k and v are of the key at position": {side: at.key for side, at in sides.items()},
        "scores are divided by": {side: at.weights.attn_scale for side, at in sides.items()},
    }
    return Data("head", shows, tables, _arrays(sides))


def _arrays(sides: Mapping[str, Inside]) -> dict[str, Measure]:
    """Each run's measures, all keys and all positions, under their names in `HeadSteps`."""
    arrays = {}
    for side, at in sides.items():
        steps = at.steps
        measures = {field: value for field, value in vars(steps).items() if isinstance(value, Measure)}
        for field, measure in (measures | {"read": steps.read}).items():
            arrays[f"{side} {field}"] = measure
    return arrays


def _table(index: str, sides: dict[str, Columns]) -> Table:
    """One row an index and run, those of B - A last; a row of which nothing is known is left out."""
    compared = with_difference(sides)
    names = list(next(iter(compared.values()), {}))
    rows: list[tuple[Cell, ...]] = []
    for side, by_name in compared.items():
        for place, values in enumerate(torch.from_numpy(np.stack(list(by_name.values()), -1)).tolist()):
            if any(value == value for value in values):
                side_name = DIFFERENCE if side == SHOWN_DIFFERENCE else side
                rows.append((side_name, place, *map(number, values)))
    return columns(["run", index, *names], rows)
