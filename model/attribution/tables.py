"""Explanation of an attention cell in tables: its score, its write, ablations, and direct effects."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import zip_longest

from headlight.model.attribution.ablation import Outcomes
from headlight.model.attribution.direct_effects import Promoted
from headlight.model.attribution.explanation import CellQuestion, Explained, explain
from headlight.model.attribution.parts import logits_at
from headlight.model.attribution.score import Why
from headlight.model.attribution.write import written_apart
from headlight.model.former_names import former_keywords
from headlight.model.measure.alignment import on_axis
from headlight.model.measure.contrast import contrast, measured_outputs
from headlight.model.measure.difference import DIFFERENCE, subtract_parts, with_difference
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name
from headlight.model.runs.tables import Cell, Row, Table, Tables, columns, finite, tokens_of
from headlight.model.text.outputs import Outputs

SCORE = ("run", "query's part", "key's part", "score")
EFFECTS = ("run", "part", "logits")
LAYERS = ("run", "after layer", "accumulated", "logit lens")
SOURCES = ("run", "place", "logits")
PROMOTED = ("run", "rank", "promotes", "by (logits)", "suppresses", "by how much (logits)")
OUTCOMES = ("run", "what is done", "direct effect (logits)", "total effect (logits)", "KL (nats)", "then predicted")
CELL = ("run", "quantity", "value")
NamedPart = tuple[Row, float]


@former_keywords(asked="question")
def why_tables(comparison: Comparison, question: CellQuestion) -> Tables:
    """Tabulate why a head attends to a key and what it contributes to a prediction.

    The tables have the score's parts, the write's effect on the logits, direct effects of all parts of the model, and
    the effects of ablating the head; with B - A where both runs have the cell.

    Args:
        comparison: one run, or two to compare.
        question: the cell and the prediction.
    """
    return explained_tables(comparison, explain(comparison, question)[0])


def explained_tables(comparison: Comparison, sides: Mapping[str, Explained]) -> Tables:
    """Tabulate the explanations of these runs' cells and predictions; of a model without logits the cell's score."""
    of_cell = {
        "tokens": tokens_of(comparison),
        "cell": rows_table(CELL, {side: summary(at).items() for side, at in sides.items()}),
        "score": parts_table(SCORE, {side: pairs(at.why) for side, at in sides.items()}),
    }
    if not all(at.has_logits for at in sides.values()):
        return of_cell
    return of_cell | {
        "promoted": rows_table(
            PROMOTED,
            {side: promoted_rows(entry, comparison.a.outputs) for side, entry in promoted_of(sides).items()},
            differs=False,
        ),
        "outcomes": rows_table(
            OUTCOMES, {side: map(astuple, entry) for side, entry in changes_of(sides).items()}, differs=False
        ),
        "effects": parts_table(EFFECTS, {side: _effects(at) for side, at in sides.items()}),
        "layers": rows_table(LAYERS, {side: _layers(at) for side, at in sides.items()}),
        "sources": parts_table(SOURCES, {side: _sources(comparison, at) for side, at in sides.items()}),
    }


def summary(at: Explained) -> dict[str, float]:
    """A cell in a few numbers; a score or difference with a soft cap is also given before the cap."""
    score = float(at.why.parts.score.values)
    if not at.has_logits:
        return {"score": score if at.why.capped is None else at.why.capped, "attention weight": at.why.weight}
    write, outcomes, effects = at.written, at.outcomes, effect_by_name(at)
    difference, before_caps = float(at.effects.difference.values), dict[str, float]()
    if at.why.capped is not None:
        before_caps["score before the soft cap"] = score
    if at.run.cfg.output_logits_soft_cap is not None:
        before_caps["target − distractor before the soft cap"] = difference
    return {
        "score": score if at.why.capped is None else at.why.capped,
        "attention weight": at.why.weight,
        "length of its write (L2 norm)": float(write.norm.values),
        "direct effect of the edge": edge_effect(at),
        "direct effect of the whole head": effects[head_name((at.cell.layer, at.cell.head))],
        "change when the edge is cut": float(outcomes.total.values[0]),
        "target − distractor": capped_difference(at),
        **before_caps,
    }


def capped_difference(at: Explained) -> float:
    """Target minus distractor (logits) behind the model's soft cap, if it has one."""
    if at.run.cfg.output_logits_soft_cap is None:
        return float(at.effects.difference.values)
    logits = logits_at(at.run, at.question.position)
    return float(contrast(logits[measured_outputs(len(logits), at.question.target, at.question.distractor)]))


def edge_effect(at: Explained) -> float:
    """The edge's direct effect on the prediction; 0 if it writes at another position."""
    return float(at.written.effect.values) if at.is_read else 0.0


def effect_by_name(at: Explained) -> dict[str, float]:
    """Every component's direct effect on target minus distractor, the constants last."""
    return dict(zip(at.effects.names, at.effects.values.values.tolist(), strict=True))


def promoted_of(sides: Mapping[str, Explained]) -> dict[str, Promoted]:
    """Tokens that each run's cell promotes and suppresses and, where there are both, the largest changes in B."""
    tokens = {side: at.written.tokens for side, at in sides.items()}
    if len(sides) < 2:
        return tokens
    a, b = ((sides[side].run, sides[side].cell) for side in "AB")
    return {**tokens, DIFFERENCE: written_apart(a, b)}


@dataclass(frozen=True)
class Change:
    """Effects of an intervention: direct and total (logits), on the distribution (nats), and the top token."""

    name: str
    direct: float
    total: float
    kl: float
    top: str = ""

    def __sub__(self, other: "Change") -> "Change":
        """This change minus the other one."""
        return Change(self.name, self.direct - other.direct, self.total - other.total, self.kl - other.kl)


def changes(at: Explained) -> list[Change]:
    """Effects of each intervention on the cell."""
    return changes_by(at.outcomes, at.run.outputs)


def changes_by(outcomes: Outcomes, names: Outputs) -> list[Change]:
    """Effects of each intervention, with the names of the outputs that are predicted then."""
    measures = (measure.values.tolist() for measure in (outcomes.direct, outcomes.total, outcomes.kl))
    return [Change(*row) for row in zip(outcomes.names, *measures, names.labels(outcomes.top.values), strict=True)]


def changes_of(sides: Mapping[str, Explained]) -> dict[str, list[Change]]:
    """Effects of each intervention in each run, and B - A of those done in both."""
    return compared_changes({side: changes(at) for side, at in sides.items()})


def compared_changes(sides: Mapping[str, Sequence[Change]]) -> dict[str, list[Change]]:
    """Effects of interventions by side, and B - A of those done in both."""
    by_name = {side: {each.name: each for each in changes} for side, changes in sides.items()}
    return {side: list(effects.values()) for side, effects in with_difference(by_name).items()}


def rows_table(heading: Sequence[str], sides: Mapping[str, Iterable[Row]], differs: bool = True) -> Table:
    """Tabulate rows of each run, and of B - A for those in both: texts and places identify matching rows."""
    rows = {side: [tuple(row) for row in entry] for side, entry in sides.items()}
    listed = [(side, *row) for side, entry in rows.items() for row in entry]
    if differs and len(rows) == 2:
        listed += [(DIFFERENCE, *row) for row in _difference(rows["A"], rows["B"])]
    return columns(heading, listed)


def parts_table(heading: Sequence[str], sides: Mapping[str, Iterable[NamedPart]]) -> Table:
    """Each run's parts of a sum, a row each, and B - A, in which one that a run lacks counts as 0."""
    parts = {side: dict(entry) for side, entry in sides.items()}
    compared = with_difference(parts, change=subtract_parts)
    return columns(heading, [(side, *name, value) for side, entry in compared.items() for name, value in entry.items()])


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


def _effects(at: Explained) -> Iterator[NamedPart]:
    yield from (((name,), value) for name, value in effect_by_name(at).items())


def pairs(why: Why) -> Iterator[NamedPart]:
    """The parts of a score by the names of the query's and the key's part."""
    for query_name, row in zip(why.query_names, why.parts.matrix.values.tolist(), strict=True):
        for key_name, value in zip(why.key_names, row, strict=True):
            yield (query_name, key_name), value


def _layers(at: Explained) -> Iterator[Row]:
    by_layer = (each.values.tolist() for each in (at.effects.accumulated, at.effects.lens))
    yield from zip(at.run.layer_labels, *by_layer, strict=True)


def _sources(comparison: Comparison, at: Explained) -> Iterator[NamedPart]:
    placed = on_axis(at.by_source.values, comparison.positions(at.run), float("nan"))
    yield from finite(placed)


def promoted_rows(promoted: Promoted, names: Outputs) -> Iterator[Row]:
    """By rank the promoted token with its effect, and the suppressed token with its effect."""
    yield from ((rank, *row) for rank, row in enumerate(zip(*promoted_columns(promoted, names), strict=True), 1))


def promoted_columns(promoted: Promoted, names: Outputs, k: int | None = None) -> tuple[tuple[Cell, ...], ...]:
    """The same as columns of equal length, of the first k ranks: None where as many tokens are not moved that way."""
    lists: tuple[Sequence[Cell], ...] = (
        names.labels(promoted.raised.values[:k].tolist()),
        promoted.raised_by.values[:k].tolist(),
        names.labels(promoted.lowered.values[:k].tolist()),
        promoted.lowered_by.values[:k].tolist(),
    )
    return tuple(zip(*zip_longest(*lists), strict=True)) or ((),) * len(lists)
