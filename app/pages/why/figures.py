"""The numbers that the page *Why* shows of a run, each by its name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from headlight.app.figures.colours import LEAST_EFFECT
from headlight.app.parts.matrix import Matrix
from headlight.app.parts.sides import DIFFERENCE, as_shown, placed
from headlight.model.attribution import tables
from headlight.model.attribution.direct_effects import Promoted
from headlight.model.attribution.explanation import Explained
from headlight.model.attribution.parts import Part
from headlight.model.attribution.tables import Change
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name

REST = "the other {}"
SUM = "sum"
STRONGEST = 8  # parts of a side of the score's matrix that have a row or column of their own
LONGEST_FALL = 11  # parts that have a bar of their own
BIAS, MLP, CONVOLUTION = "bias", "MLP", "convolution"


def score_matrix(at: Explained) -> Matrix:
    """All parts of a cell's score: row the query's, column the key's."""
    score = at.why
    return Matrix(score.query_names, score.key_names, score.parts.matrix.values.numpy())


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


def effect_map(at: Explained) -> Matrix:
    """The direct effect of every head, MLP and, where there is one, attention bias: row the layer."""
    cfg, effects = at.run.cfg, dict[tuple[int, str], float]()
    for part, value in zip(at.effects.parts, at.effects.values.values.tolist(), strict=True):
        if part.layer is not None:
            cell = part.layer, _column(part)
            effects[cell] = effects.get(cell, 0.0) + value  # experts share the MLPs' column
    present = {column for _, column in effects}
    columns = tuple(
        name for name in (*(f"H{head}" for head in range(cfg.n_heads)), BIAS, MLP, CONVOLUTION) if name in present
    )
    values = [[effects.get((layer, column), np.nan) for column in columns] for layer in range(cfg.n_layers)]
    return Matrix(tuple(f"L{layer}" for layer in range(cfg.n_layers)), columns, np.array(values))


def _column(part: Part) -> str:
    if part.head is not None:
        return f"H{part.head}"
    return next((name for name in (BIAS, CONVOLUTION) if part.name.endswith(name)), MLP)


def by_layer(at: Explained) -> Matrix:
    """Cumulative sum after each layer, and the lens reading there."""
    rows = np.stack([each.values.numpy() for each in (at.effects.accumulated, at.effects.lens)])
    return Matrix(("accumulated", "logit lens"), at.run.layer_labels, rows, absent=np.nan)


def by_source(comparison: Comparison, at: Explained) -> Matrix:
    """The head's effect by the token that it took it from, on the page's places."""
    values = placed(at.by_source.values.numpy()[None], comparison.positions(at.run), np.nan)
    places = tuple(f"{place} {label}" for place, label in enumerate(comparison.labels))
    return Matrix((head_name(at.head),), places, values)


def limit_of(sides: Mapping[str, Matrix], side: str) -> float:
    """The largest size in A and B, whose colours compare, or in B - A, if it matters at all; sums do not count."""
    shared = [each for each in sides if (each == DIFFERENCE) == (side == DIFFERENCE)]
    return max(LEAST_EFFECT, *(_largest(sides[each]) for each in shared))


def _largest(matrix: Matrix) -> float:
    rows, columns = ([name != SUM for name in names] for names in (matrix.rows, matrix.columns))
    return float(np.nanmax(np.abs(matrix.values[np.ix_(rows, columns)]), initial=0))


def promoted_of(sides: Mapping[str, Explained]) -> dict[str, Promoted]:
    """Tokens that each run's cell promotes and suppresses and, where there are both, the largest changes in B."""
    return as_shown(tables.promoted_of(sides))


def changes_of(sides: Mapping[str, Explained]) -> dict[str, list[Change]]:
    """Effects of each intervention in each run and, where there are both, B - A for interventions made in both."""
    return as_shown(tables.changes_of(sides))
