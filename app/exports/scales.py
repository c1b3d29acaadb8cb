"""How values become colours in the pictures: the page's own limits, and its square root that shows small values."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from headlight.app.figures.colours import TICKS

if TYPE_CHECKING:
    from matplotlib.colors import Normalize

Cells = Float[np.ndarray, "..."]


def largest(values: Iterable[Cells]) -> float:
    """The largest size of any cell; 1 where there is none but zeros."""
    return max(float(np.nanmax(np.abs(cells), initial=0.0, where=~np.isnan(cells))) for cells in values) or 1.0


def scale(limit: float, signed: bool, root: bool) -> "Normalize":
    """From 0, or from -limit, to limit; by the square root of the size if asked."""
    from matplotlib.colors import FuncNorm, Normalize

    lowest = -limit if signed else 0.0
    return FuncNorm((_root, _square), lowest, limit) if root else Normalize(lowest, limit)


def ticks(limit: float, signed: bool, root: bool) -> list[float]:
    """Values to write beside a colour bar."""
    shares = TICKS["sqrt" if root else "linear"]["signed" if signed else "positive"]
    return [limit * share for share in shares]


def _root(values: Cells) -> Cells:
    return np.sign(values) * np.sqrt(np.abs(values))


def _square(values: Cells) -> Cells:
    return np.sign(values) * np.square(values)
