"""A matrix with names along its sides, of which one can be subtracted from another."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix with the names of its rows and columns."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Float[np.ndarray, "row column"]

    def __sub__(self, other: "Matrix") -> "Matrix":
        """This one less the other, for the rows and columns that both have."""
        rows, columns = (
            tuple(name for name in mine if name in theirs)
            for mine, theirs in ((self.rows, other.rows), (self.columns, other.columns))
        )
        mine, theirs = (each.values[np.ix_(*each._places(rows, columns))] for each in (self, other))
        return Matrix(rows, columns, mine - theirs)

    def _places(self, rows: Sequence[str], columns: Sequence[str]) -> tuple[list[int], list[int]]:
        return [self.rows.index(name) for name in rows], [self.columns.index(name) for name in columns]
