"""Sums of many parts, of which the strongest are drawn each by itself and the others together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from headlight.app.figures.colours import LEAST_EFFECT
from headlight.app.parts.matrix import Matrix
from headlight.app.parts.sides import DIFFERENCE

REST = "the other {}"
SUM = "sum"
STRONGEST = 8  # parts of a side of a matrix that have a row or column of their own
LONGEST_FALL = 11  # parts that have a bar of their own


def condensed(matrix: Matrix, count: int = STRONGEST) -> Matrix:
    """The strongest rows and columns, the others as one each, and at the end the sums of all."""
    rows, names = _condensed(matrix.values, matrix.rows, count)
    columns, others = _condensed(rows.T, matrix.columns, count)
    values = columns.T
    values = np.concatenate([values, values.sum(0, keepdims=True)])
    values = np.concatenate([values, values.sum(1, keepdims=True)], axis=1)
    return Matrix((*names, SUM), (*others, SUM), values)


def condensed_rows(matrix: Matrix, count: int = STRONGEST) -> Matrix:
    """The strongest rows, the others as one, and at the end the sums of all."""
    values, names = _condensed(matrix.values, matrix.rows, count)
    return Matrix((*names, SUM), matrix.columns, np.concatenate([values, values.sum(0, keepdims=True)]))


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


def limit_of(sides: Mapping[str, Matrix], side: str) -> float:
    """The largest size in A and B, whose colours compare, or in B - A, if it matters at all; sums do not count."""
    shared = [each for each in sides if (each == DIFFERENCE) == (side == DIFFERENCE)]
    return max(LEAST_EFFECT, *(_largest(sides[each]) for each in shared))


def _largest(matrix: Matrix) -> float:
    rows, columns = ([name != SUM for name in names] for names in (matrix.rows, matrix.columns))
    return float(np.nanmax(np.abs(matrix.values[np.ix_(rows, columns)]), initial=0))
