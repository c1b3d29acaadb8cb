"""The heads' attention: the chosen heads' cells, every head's scores, and how far heads and runs are apart."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from headlight.model.attention import fields
from headlight.model.attention.axis import Axis, Unit, axis_of
from headlight.model.attention.fields import How, Show, Sink, how_between
from headlight.model.attention.folding import Fold
from headlight.model.attention.hidden_sentence import losses_without
from headlight.model.attention.receiver_heads import ReceiverHeads
from headlight.model.attention.receiver_tables import receiver_tables, receivers_of
from headlight.model.measure import Measure
from headlight.model.measure import Unit as MeasureUnit
from headlight.model.measure.difference import sides_of
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name
from headlight.model.runs.run import Run
from headlight.model.runs.tables import Row, Rows, Table, Tables, columns, finite, number, tokens_table

UNITS: dict[Show, MeasureUnit] = {
    "weight": "probability",
    "score": "score",
    "write": "L2 norm",
    "disagreement": "share",
}
SCORES = {
    "entropy": "Entropy (nats)",
    "mean_distance": "Distance (tokens)",
    "previous_token": "Previous token",
    "induction": "Induction",
    "duplicate_token": "Same token",
    "first_token": "First token",
    "other_sinks": "Other sinks",
    "current_token": "Current token",
    "largest_write": "Largest write (norm)",
}


def attention_tables(
    comparison: Comparison,
    heads: Sequence[Head],
    show: Show = "weight",
    sink: Sink = "keep",
    unit: Unit = "token",
    hidden: int | None = None,
    fold: Fold = "average",
) -> Tables:
    """Tabulate attention: the cells of some heads, every head's scores, and the distances between heads and runs.

    Of eight or more sentences or turns there are vertical scores too, and the heads ranked by their kurtosis. The score
    of other sinks is empty where the run has no sink in mid-prompt.

    Args:
        comparison: one run, or two to compare.
        heads: (layer, head) pairs whose cells are listed; row = query, column = key.
        show: quantity in the cells; words and sentences have weights only.
        sink: how the first token, on which many heads rest, is treated.
        unit: whether rows and columns are tokens, words, sentences or turns.
        hidden: the place of a unit, of which it is measured what later ones lose when it is hidden from them.
        fold: whether a cell between two units adds up the weights on keys and averages over queries, or is the largest
            weight of one token on one token.
    """
    how = how_between(unit, show, sink, fold)
    return read_attention(comparison, heads, how, unit, hidden).tables(comparison)


@dataclass(frozen=True, eq=False)
class AttentionReport:
    """Every head's scores [score, layer, head], the heads' cells [head, query, key], and how far heads are apart.

    `apart` [head, other head] is of run A, `divergence` [layer, head] of A and B; None where there are no two.
    `receivers` are of A and of B, where these have enough sentences or turns. `losses` [place] are what later ones lose
    without the one that is `hidden`, if any.
    """

    heads: tuple[Head, ...]
    unit: Unit
    axis: Axis
    scores: Mapping[str, Measure]
    cells: Mapping[str, Measure]
    apart: Measure | None
    divergence: Measure | None
    receivers: Mapping[str, ReceiverHeads]
    losses: Mapping[str, Measure]

    @property
    def n_cells(self) -> int:
        """The cells that have a value."""
        return sum(int(measure.values.isfinite().sum()) for measure in self.cells.values())

    def tables(self, comparison: Comparison, with_cells: bool = True) -> Tables:
        """All of it as tables."""
        tables: Tables = {"tokens": _tokens(comparison, self.axis, self.unit), "scores": _scores_table(self.scores)}
        if self.apart:
            tables["apart"] = _apart(self.heads, self.apart)
        if self.cells and with_cells:
            tables["cells"] = _cells(self.heads, self.cells)
        if sinks := _sinks(comparison, self.heads):
            tables["sinks"] = columns(["head", "run", "place", "share that goes to the sink"], sinks)
        if self.divergence:
            tables["divergence"] = _divergence(self.divergence)
        if self.losses:
            tables["losses"] = _losses(self.losses)
        return tables | receiver_tables(self.receivers, self.heads, self.axis)


def read_attention(
    comparison: Comparison, heads: Sequence[Head], how: How, unit: Unit = "token", hidden: int | None = None
) -> AttentionReport:
    """Attention of the heads of one or two runs."""
    axis = axis_of(comparison, unit, comparison.align)
    return AttentionReport(
        heads=tuple(heads),
        unit=unit,
        axis=axis,
        scores=comparison.measured(_scores),
        cells=cells_of(comparison, heads, how, axis) if heads else {},
        apart=fields.apart(comparison.a, heads) if heads else None,
        divergence=fields.divergence(comparison, axis) if comparison.b is not None else None,
        receivers=receivers_of(comparison, unit),
        losses={} if hidden is None else losses_without(comparison, unit, axis, hidden),
    )


def cells_of(comparison: Comparison, heads: Sequence[Head], how: How, axis: Axis) -> dict[str, Measure]:
    """Each head's cells [head, query, key], of A, B and B - A; NaN is masked, hidden or absent."""
    title = fields.name_of(how.show, how.fold)
    cells = {}
    for name, side in sides_of(comparison.b is not None).items():
        values = torch.stack([fields.on_axis(comparison, side, head, how, axis) for head in heads])
        cells[name] = Measure(title, UNITS[how.show], ("head", "query", "key"), values)
    return cells


def _tokens(comparison: Comparison, axis: Axis, unit: Unit) -> Table:
    labels = {side: axis_of(Comparison(run), unit, "tokens").labels for side, run in comparison.sides.items()}
    return tokens_table(labels, dict(zip(comparison.sides, axis.positions, strict=True)))


def _scores(run: Run) -> Measure:
    """Every head's scores in a run; their units differ and stand in the names."""
    values = torch.stack([fields.head_scores(run, name) for name in SCORES])
    return Measure("scores", "share", ("score", "layer", "head"), values)


def _scores_table(scores: Mapping[str, Measure]) -> Table:
    rows = (row for side, measure in scores.items() for row in _score_rows(side, measure))
    return columns(["run", "head", *SCORES.values()], rows)


def _score_rows(side: str, measure: Measure) -> Iterator[Row]:
    for layer, by_head in enumerate(measure.values.permute(1, 2, 0).tolist()):
        for head, values in enumerate(by_head):
            yield side, head_name((layer, head)), *map(number, values)


def _cells(heads: Sequence[Head], cells: Mapping[str, Measure]) -> Table:
    rows = [
        (head_name(head), side, query, key, value)
        for slot, head in enumerate(heads)
        for side, measure in cells.items()
        for (query, key), value in finite(measure.values[slot])
    ]
    return columns(["head", "run", "query", "key", next(iter(cells.values())).name], rows)


def _sinks(comparison: Comparison, heads: Sequence[Head]) -> Rows:
    """Each query's weight on the attention sink; empty where heads have none."""
    return [
        (head_name(head), side, place, share)
        for head in heads
        for side, run in comparison.sides.items()
        if (shares := fields.to_sink(run, head)) is not None
        for place, share in zip(comparison.places(run), shares.tolist(), strict=True)
    ]


def _apart(heads: Sequence[Head], apart: Measure) -> Table:
    pairs = [(one, other) for one in range(len(heads)) for other in range(one + 1, len(heads))]
    rows = [(head_name(heads[one]), head_name(heads[other]), float(apart.values[one, other])) for one, other in pairs]
    return columns(["head", "other head", "Jensen-Shannon divergence (nats)"], rows)


def _losses(losses: Mapping[str, Measure]) -> Table:
    rows = [(side, place, value) for side, measure in losses.items() for (place,), value in finite(measure.values)]
    return columns(["run", "place", "KL without the hidden one (nats)"], rows)


def _divergence(divergence: Measure) -> Table:
    rows = [(head_name((layer, head)), value) for (layer, head), value in finite(divergence.values)]
    return columns(["head", "A and B apart (nats)"], rows)
