"""A matrix with names along its sides, of which one can be subtracted from another."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from headlight.model.measure.difference import union


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix with the names of its rows and columns; NaN where it has no cell.

    `absent` is what such a cell counts as in a difference: 0 where cells are parts of a sum, else NaN.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Float[np.ndarray, "row column"]
    absent: float = 0.0

    def __sub__(self, other: "Matrix") -> "Matrix":
        """This one less the other, matched by name, with the rows and columns of both."""
        rows, columns = union(other.rows, self.rows), union(other.columns, self.columns)
        mine, theirs = (each._under(rows, columns) for each in (self, other))
        mine, theirs = (np.where(np.isnan(values), self.absent, values) for values in (mine, theirs))
        return Matrix(rows, columns, mine - theirs, self.absent)

    def _under(self, rows: Sequence[str], columns: Sequence[str]) -> Float[np.ndarray, "row column"]:
        """Its cells under these names, NaN where it has none."""
        values = np.full((len(rows), len(columns)), np.nan)
        slots = ({name: slot for slot, name in enumerate(names)} for names in (rows, columns))
        places = ([at[name] for name in own] for at, own in zip(slots, (self.rows, self.columns), strict=True))
        values[np.ix_(*places)] = self.values
        return values
