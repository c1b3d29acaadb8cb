"""The attention page in numbers: the chosen heads' cells, every head's scores, and how far heads are apart."""

from collections.abc import Iterator

import torch

from app import fields
from app.axis import Axis, axis_of
from app.csv_files import Cell
from app.exports.numbers.data import Data, Table
from app.exports.numbers.sides import DIFFERENCE, columns, finite, named, number, sides, tokens_table
from app.fields import How
from app.run import Run
from app.selection.chosen import Head, Selection, Show, Side, Unit
from app.shown import Shown
from app.views.attention import clearest
from app.views.scores import SCORES, of_run
from model.analysis import Measure
from model.analysis import Unit as MeasureUnit

SIDES: dict[str, Side] = {"A": "a", "B": "b", DIFFERENCE: "difference"}
OF_A_RUN = {name: score for name, score in SCORES.items() if not score.needs_b}
UNITS: dict[Show, MeasureUnit] = {"weight": "probability", "score": "nats", "write": "L2 norm", "disagreement": "share"}
MOST_ROWS = 300_000  # cells in a csv, beyond which they are in the npz alone


def data(shown: Shown, chosen: Selection) -> Data:
    """Cells of the chosen heads as they are shown (measure, first token, words), scores of all heads."""
    axis, heads, how = axis_of(shown, chosen.unit, chosen.align), heads_of(shown, chosen), how_of(chosen)
    scores = sides(shown, _scores)
    tables = {"tokens": _tokens(shown, axis, chosen.unit), "scores": _scores_table(scores)}
    arrays = named("scores", scores)
    if heads:
        cells = cells_of(shown, heads, how, axis)
        apart = fields.apart(shown.a, heads)
        tables["apart"] = _apart(heads, apart)
        arrays |= named("cells", cells) | {"apart": apart}
        if sum(int(measure.values.isfinite().sum()) for measure in cells.values()) <= MOST_ROWS:
            tables["cells"] = _cells(heads, cells)
    if shown.b is not None:
        divergence = fields.divergence(shown, axis)
        tables["divergence"] = _divergence(divergence)
        arrays["divergence"] = divergence
    return Data("attention", shows(chosen, heads), tables, arrays)


def heads_of(shown: Shown, chosen: Selection) -> tuple[Head, ...]:
    """The chosen heads, or those that the page begins with."""
    return clearest(shown.a) if chosen.heads is None else chosen.heads


def how_of(chosen: Selection) -> How:
    """What the cells hold; words and sentences have weights alone."""
    return How(chosen.show if chosen.unit == "token" else "weight", chosen.sink)


def shows(chosen: Selection, heads: tuple[Head, ...]) -> dict[str, object]:
    """What was chosen to be shown, in words."""
    how = how_of(chosen)
    return {
        "cells": fields.TITLES[how.show][0],
        "unit": UNITS[how.show],
        "heads": [name(head) for head in heads],
        "places are": f"{chosen.unit}s",
        "first token": fields.first_token_note(how) or "shown",
        "scores": [score.title for score in OF_A_RUN.values()],
    }


def name(head: Head) -> str:
    """What a head is called: L2H1."""
    return f"L{head[0]}H{head[1]}"


def cells_of(shown: Shown, heads: tuple[Head, ...], how: How, axis: Axis) -> dict[str, Measure]:
    """What each head's picture holds, of A, B and B - A; NaN is masked, hidden or absent."""
    title, _ = fields.TITLES[how.show]
    axes = ("head", "query", "key")
    found = {}
    for side in list(SIDES)[: 3 if shown.b is not None else 1]:
        values = torch.stack([fields.on_axis(shown, SIDES[side], head, how, axis) for head in heads])
        found[side] = Measure(title, UNITS[how.show], axes, values)
    return found


def _tokens(shown: Shown, axis: Axis, unit: Unit) -> Table:
    labels = {side: axis_of(Shown(run), unit, "tokens").labels for side, run in shown.sides.items()}
    return tokens_table(labels, dict(zip(shown.sides, axis.positions, strict=True)))


def _scores(run: Run) -> Measure:
    """Every head's scores in a run; their units differ and stand in the names."""
    values = torch.stack([torch.as_tensor(of_run(run, key)) for key in OF_A_RUN])
    return Measure("scores", "share", ("score", "layer", "head"), values)


def _scores_table(scores: dict[str, Measure]) -> Table:
    heading = ["run", "head", *(score.title for score in OF_A_RUN.values())]
    return columns(heading, [row for side, measure in scores.items() for row in _score_rows(side, measure)])


def _score_rows(side: str, measure: Measure) -> Iterator[tuple[Cell, ...]]:
    for layer, by_head in enumerate(measure.values.permute(1, 2, 0).tolist()):
        for head, values in enumerate(by_head):
            yield side, name((layer, head)), *map(number, values)


def _cells(heads: tuple[Head, ...], cells: dict[str, Measure]) -> Table:
    rows = [
        (name(head), side, query, key, value)
        for slot, head in enumerate(heads)
        for side, measure in cells.items()
        for (query, key), value in finite(measure.values[slot])
    ]
    return columns(["head", "run", "query", "key", next(iter(cells.values())).name], rows)


def _apart(heads: tuple[Head, ...], apart: Measure) -> Table:
    pairs = [(one, other) for one in range(len(heads)) for other in range(one + 1, len(heads))]
    rows = [(name(heads[one]), name(heads[other]), float(apart.values[one, other])) for one, other in pairs]
    return columns(["head", "other head", "Jensen-Shannon divergence (nats)"], rows)


def _divergence(divergence: Measure) -> Table:
    rows = [(name((layer, head)), value) for (layer, head), value in finite(divergence.values)]
    return columns(["head", "A and B apart (nats)"], rows)
