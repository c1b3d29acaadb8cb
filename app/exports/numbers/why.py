"""The page *Why* in numbers: a cell's score, its write, what cutting it changes, and who made the prediction."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from app.csv_files import Cell
from app.exports.numbers.data import Data, Table
from app.exports.numbers.residual import positions_of
from app.exports.numbers.sides import DIFFERENCE, columns, tokens_table
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.parts import name
from app.views.reasons import numbers, spelled
from app.views.reasons.chosen import Explained, pair_of, place_of, query_place, sides_of
from app.views.reasons.numbers import Change, effect_by_name
from app.views.steps.chosen import head_of
from model.analysis import Measure
from model.analysis.attribution import Promoted

Row = tuple[Cell, ...]
Value = TypeVar("Value")

SCORE = ("run", "query's part", "key's part", "nats")
EFFECTS = ("run", "part", "logits")
LAYERS = ("run", "after layer", "added up so far", "logit lens")
SOURCES = ("run", "place", "logits")
PROMOTED = ("run", "rank", "promotes", "by (logits)", "suppresses", "by how much (logits)")
OUTCOMES = ("run", "what is done", "direct effect (logits)", "total effect (logits)", "KL (nats)", "then predicted")
CELL = ("run", "quantity", "value")


def data(shown: Shown, chosen: Selection) -> Data:
    """Tables of both runs with B - A where there is such a thing, and the arrays that they are made of."""
    sides, pair = sides_of(shown, chosen)[0], pair_of(shown, chosen)
    tables: dict[str, Table] = {
        "tokens": tokens_table({side: run.labels for side, run in shown.sides.items()}, positions_of(shown)),
        "cell": _table(CELL, {side: _cell(at) for side, at in sides.items()}),
        "score": _table(SCORE, {side: _score(at) for side, at in sides.items()}),
        "promoted": _table(PROMOTED, _each(numbers.promoted_of(sides), lambda found: _promoted(shown, found)), False),
        "outcomes": _table(OUTCOMES, _each(numbers.changes_of(sides), _outcomes), False),
        "effects": _table(EFFECTS, {side: effect_by_name(at).items() for side, at in sides.items()}),
        "layers": _table(LAYERS, {side: _layers(at) for side, at in sides.items()}),
        "sources": _table(SOURCES, {side: _sources(shown, at) for side, at in sides.items()}),
    }
    labels = shown.a.tokenizer.labels([pair.target, pair.distractor])
    shows = {
        "head": name(head_of(shown, chosen)),
        "query is at place": query_place(shown, chosen),
        "key is at position": {side: at.cell.key for side, at in sides.items()},
        "predicted after place": place_of(shown, chosen),
        "target": {"token id": pair.target, "token": labels[0]},
        "distractor": {"token id": pair.distractor, "token": labels[1]},
        "the head's mean": {side: spelled.mean(at) for side, at in sides.items()},
        "the mean is over": list(chosen.mean_over) or "this prompt",
        "the other run's": {side: spelled.resampled(at) for side, at in sides.items()},
        "LayerNorm": "every scale is the run's own; nothing is folded or centred",
        "names of the parts": {
            side: {"query": at.why.query_names, "key": at.why.key_names, "effects": at.effects.names}
            for side, at in sides.items()
        },
    }
    return Data("why", shows, tables, _arrays(sides))


def _arrays(sides: Mapping[str, Explained]) -> dict[str, Measure]:
    arrays: dict[str, Measure] = {}
    for side, at in sides.items():
        found = {
            "score parts": at.why.found.matrix,
            "score": at.why.found.score,
            "score residual": at.why.found.residual,
            "write norm": at.written.norm,
            "direct effects": at.effects.values,
            "difference": at.effects.difference,
            "difference residual": at.effects.residual,
            "accumulated": at.effects.accumulated,
            "lens": at.effects.lens,
            "by source": at.by_source,
            "interventions direct": at.outcomes.direct,
            "interventions total": at.outcomes.total,
            "interventions KL": at.outcomes.kl,
        }
        arrays |= {f"{side} {name}": measure for name, measure in found.items()}
    return arrays


def _each(sides: Mapping[str, Value], rows: Callable[[Value], Iterable[Row]]) -> dict[str, Iterable[Row]]:
    """The rows of each run and of B - A, by the names that they have in files."""
    return {side if side in ("A", "B") else DIFFERENCE: rows(found) for side, found in sides.items()}


def _table(heading: Sequence[str], sides: Mapping[str, Iterable[Row]], differs: bool = True) -> Table:
    """Each run's rows, and those of B - A for what both have: texts and places say which rows belong together."""
    rows = {side: [tuple(row) for row in found] for side, found in sides.items()}
    listed = [(side, *row) for side, found in rows.items() for row in found]
    if differs and len(rows) == 2:
        listed += [(DIFFERENCE, *row) for row in _difference(rows["A"], rows["B"])]
    return columns(heading, listed)


def _difference(a: Sequence[Row], b: Sequence[Row]) -> Iterator[Row]:
    of_a = {_key(row): row for row in a}
    for row in b:
        if before := of_a.get(_key(row)):
            yield tuple(
                one - other if isinstance(one, float) and isinstance(other, float) else one
                for one, other in zip(row, before, strict=True)
            )


def _key(row: Row) -> Row:
    return tuple(cell for cell in row if not isinstance(cell, float))


def _cell(at: Explained) -> Iterator[Row]:
    yield from numbers.summary(at).items()


def _score(at: Explained) -> Iterator[Row]:
    matrix = numbers.score_matrix(at)
    for name_of_row, row in zip(matrix.rows, matrix.values.tolist(), strict=True):
        for name_of_column, value in zip(matrix.columns, row, strict=True):
            yield name_of_row, name_of_column, value


def _promoted(shown: Shown, tokens: Promoted) -> Iterator[Row]:
    label = shown.a.tokenizer.labels
    lists = (
        label(tokens.raised.values.tolist()),
        tokens.raised_by.values.tolist(),
        label(tokens.lowered.values.tolist()),
        tokens.lowered_by.values.tolist(),
    )
    for rank, row in enumerate(zip(*lists, strict=True), 1):
        yield rank, *row


def _outcomes(changes: Sequence[Change]) -> Iterator[Row]:
    yield from ((each.name, each.direct, each.total, each.kl, each.top) for each in changes)


def _layers(at: Explained) -> Iterator[Row]:
    matrix = numbers.by_layer(at)
    yield from zip(matrix.columns, *matrix.values.tolist(), strict=True)


def _sources(shown: Shown, at: Explained) -> Iterator[Row]:
    for place, value in enumerate(numbers.by_source(shown, at).values[0].tolist()):
        if value == value:
            yield place, value
