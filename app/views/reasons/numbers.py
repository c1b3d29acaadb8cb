"""The numbers that the page *Why* shows of a run, by name, so that those of two runs can be subtracted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from app.explained import Part, written_apart
from app.shown import Shown
from app.views.reasons.chosen import Explained
from app.views.sides import DIFFERENCE, placed
from model.analysis.attribution import Promoted

REST = "the other {}"
SUM = "sum"
STRONGEST = 8  # parts of a side of the score's matrix that have a row or column of their own
LONGEST_FALL = 14  # parts that have a bar of their own
BIAS, MLP = "bias", "MLP"


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix with the names of its rows and columns."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Float[np.ndarray, "row column"]

    def minus(self, other: "Matrix") -> "Matrix":
        """What is left where the other is taken off, for the rows and columns that both have."""
        rows, columns = (
            tuple(name for name in mine if name in theirs)
            for mine, theirs in ((self.rows, other.rows), (self.columns, other.columns))
        )
        mine, theirs = (each.values[np.ix_(*each._places(rows, columns))] for each in (self, other))
        return Matrix(rows, columns, mine - theirs)

    def _places(self, rows: Sequence[str], columns: Sequence[str]) -> tuple[list[int], list[int]]:
        return [self.rows.index(name) for name in rows], [self.columns.index(name) for name in columns]


def score_matrix(at: Explained) -> Matrix:
    """All parts of a cell's score: row the query's, column the key's."""
    why = at.why
    return Matrix(why.query_names, why.key_names, why.found.matrix.values.numpy())


def condensed(matrix: Matrix, count: int = STRONGEST) -> Matrix:
    """The strongest rows and columns, the others as one each, and at the end the sums of all."""
    rows, names = _condensed(matrix.values, matrix.rows, count)
    columns, others = _condensed(rows.T, matrix.columns, count)
    values = columns.T
    values = np.concatenate([values, values.sum(0, keepdims=True)])
    values = np.concatenate([values, values.sum(1, keepdims=True)], axis=1)
    return Matrix((*names, SUM), (*others, SUM), values)


def _condensed(
    rows: Float[np.ndarray, "row column"], names: Sequence[str], count: int
) -> tuple[Float[np.ndarray, "kept column"], tuple[str, ...]]:
    """The rows farthest from zero, in their own order, and the sum of the others."""
    if len(rows) <= count + 1:
        return rows, tuple(names)
    kept = np.sort(np.argsort(-np.abs(rows).sum(1), kind="stable")[:count])
    rest = np.delete(rows, kept, axis=0).sum(0, keepdims=True)
    return np.concatenate([rows[kept], rest]), (*(names[i] for i in kept), REST.format(len(rows) - count))


@dataclass(frozen=True)
class Step:
    """One part's effect in a sum, with the sum before and after it."""

    name: str
    start: float
    end: float


def fall(effects: Mapping[str, float], count: int = LONGEST_FALL) -> list[Step]:
    """The strongest effects, strongest first, the others as one, each from where the one before it ended."""
    order = sorted(effects, key=lambda name: -abs(effects[name]))
    parts = [(name, effects[name]) for name in order[:count]]
    if rest := order[count:]:
        parts.append((REST.format(len(rest)), sum(effects[name] for name in rest)))
    ends = np.cumsum([0.0, *(value for _, value in parts)]).tolist()
    return [Step(name, *ends[slot : slot + 2]) for slot, (name, _) in enumerate(parts)]


def effect_by_name(at: Explained) -> dict[str, float]:
    """What everything that wrote adds to target minus distractor, the constants last."""
    return dict(zip(at.effects.names, at.effects.values.values.tolist(), strict=True))


def effect_map(at: Explained) -> Matrix:
    """The same of heads, attention biases and MLPs: row the layer."""
    cfg = at.run.cfg
    columns = (*(f"H{head}" for head in range(cfg.n_heads)), BIAS, *(() if cfg.attn_only else (MLP,)))
    values = np.full((cfg.n_layers, len(columns)), np.nan)
    for part, value in zip(at.effects.parts, at.effects.values.values.tolist(), strict=True):
        if part.layer is not None:
            values[part.layer, _column(part, cfg.n_heads)] = value
    return Matrix(tuple(f"L{layer}" for layer in range(cfg.n_layers)), columns, values)


def _column(part: Part, n_heads: int) -> int:
    if part.head is not None:
        return part.head
    return n_heads + 1 if part.name.endswith(MLP) else n_heads


def by_layer(at: Explained) -> Matrix:
    """What had been added up to after each layer, and what the lens reads there."""
    rows = np.stack([each.values.numpy() for each in (at.effects.accumulated, at.effects.lens)])
    return Matrix(("added up so far", "logit lens"), at.run.layer_labels, rows)


def by_source(shown: Shown, at: Explained) -> Matrix:
    """The head's effect by the token that it took it from, on the page's places."""
    values = placed(at.by_source.values.numpy()[None], shown.positions(at.run), np.nan)
    places = tuple(f"{place} {label}" for place, label in enumerate(shown.labels))
    return Matrix((f"L{at.cell.layer}H{at.cell.head}",), places, values)


def matrices(sides: Mapping[str, Explained], of: Callable[[Explained], Matrix]) -> dict[str, Matrix]:
    """A matrix of each run and, where there are both, B - A."""
    return difference({side: of(at) for side, at in sides.items()})


def difference(sides: Mapping[str, Matrix]) -> dict[str, Matrix]:
    """The same and, where there are both, B - A."""
    if len(sides) < 2:
        return dict(sides)
    return {**sides, DIFFERENCE: sides["B"].minus(sides["A"])}


def limit_of(sides: Mapping[str, Matrix], side: str) -> float:
    """The largest size in A and B, whose colours compare, or in B - A; sums do not count."""
    shared = [each for each in sides if (each == DIFFERENCE) == (side == DIFFERENCE)]
    return max(_largest(sides[each]) for each in shared)


def _largest(matrix: Matrix) -> float:
    rows, columns = ([name != SUM for name in names] for names in (matrix.rows, matrix.columns))
    return float(np.nanmax(np.abs(matrix.values[np.ix_(rows, columns)]), initial=0))


def summary(at: Explained) -> dict[str, float]:
    """A cell in a few numbers."""
    write, outcomes, effects = at.written, at.outcomes, effect_by_name(at)
    return {
        "score (nats)": float(at.why.found.score.values),
        "attention weight": at.why.weight,
        "length of its write (L2 norm)": float(write.norm.values),
        "direct effect of the edge": edge_effect(at),
        "direct effect of the whole head": effects[f"L{at.cell.layer}H{at.cell.head}"],
        "change when the edge is cut": float(outcomes.total.values[0]),
        "target − distractor": float(at.effects.difference.values),
    }


def edge_effect(at: Explained) -> float:
    """What the edge adds directly at the place where the prediction is measured: none if it writes elsewhere."""
    return float(at.written.effect.values) if at.cell.query == at.question.position else 0.0


def subtract(summaries: Mapping[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """The same and, where there are both, B - A."""
    if len(summaries) < 2:
        return dict(summaries)
    a, b = summaries["A"], summaries["B"]
    return {**summaries, DIFFERENCE: {name: b[name] - a[name] for name in a if name in b}}


def promoted_of(sides: Mapping[str, Explained]) -> dict[str, Promoted]:
    """The tokens that each run's cell promotes and suppresses and, where there are both, those that B's does more."""
    found = {side: at.written.tokens for side, at in sides.items()}
    if len(sides) < 2:
        return found
    a, b = ((sides[side].run, sides[side].cell) for side in "AB")
    return {**found, DIFFERENCE: written_apart(a, b)}


@dataclass(frozen=True)
class Change:
    """What an intervention changes: directly and in all (logits), the whole distribution (nats), and the top token."""

    name: str
    direct: float
    total: float
    kl: float
    top: str = ""


def changes(at: Explained) -> list[Change]:
    """What each intervention on the cell changes."""
    found = at.outcomes
    measures = (measure.values.tolist() for measure in (found.direct, found.total, found.kl))
    return [Change(*row) for row in zip(found.names, *measures, at.run.tokenizer.labels(found.top.values), strict=True)]


def changes_of(sides: Mapping[str, Explained]) -> dict[str, list[Change]]:
    """The same of each run and, where there are both, B - A of what was done to both."""
    by_side = {side: changes(at) for side, at in sides.items()}
    if len(by_side) < 2:
        return by_side
    of_a = {each.name: each for each in by_side["A"]}
    pairs = [(each, of_a[each.name]) for each in by_side["B"] if each.name in of_a]
    less = [Change(b.name, b.direct - a.direct, b.total - a.total, b.kl - a.kl) for b, a in pairs]
    return {**by_side, DIFFERENCE: less}
