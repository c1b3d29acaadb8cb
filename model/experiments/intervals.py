"""Means over the rows of a set, with intervals, and the rows that deviate from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

Interval = Literal["bootstrap", "t"]
CONFIDENCE = 0.95
RESAMPLES = 2000
MIN_ROWS = 2  # one row says nothing about how much rows differ
MAX_RESAMPLED_ROWS = 5000  # means of more rows are as good as normal, whatever the rows' own distribution
CELLS_AT_ONCE = 2**22 // RESAMPLES  # torch.quantile takes 2^24 numbers at most
GRID = 2**18


@dataclass(frozen=True, eq=False)
class Summary:
    """What is said of every cell over the rows that have it.

    Attributes:
        mean: the mean; NaN where no row has the cell.
        low: the lower end of the 95% interval of the mean; NaN of fewer than two rows.
        high: its upper end.
        share_of_sign: the share of rows whose value has the mean's sign.
        count: the number of rows that have the cell.
    """

    mean: Float[Tensor, "*cell"]
    low: Float[Tensor, "*cell"]
    high: Float[Tensor, "*cell"]
    share_of_sign: Float[Tensor, "*cell"]
    count: Int[Tensor, "*cell"]


@torch.no_grad()
def summarise(values: Float[Tensor, "row *cell"], how: Interval = "bootstrap", seed: int = 0) -> Summary:
    """Summarise every cell over the rows; rows that are NaN in a cell do not count there.

    Args:
        values: a value for every row and cell.
        how: "bootstrap" for the percentiles of means over resampled rows, which suits what is skewed; "t" for
            Student's t, which supposes that the mean is normally distributed. Of more than 5,000 rows it is t's.
        seed: decides which rows are resampled.

    Source: Efron 1979, "Bootstrap methods: another look at the jackknife", with percentile intervals.
    """
    cells = values.shape[1:]
    columns = values.double().reshape(len(values), prod(cells))
    has = ~columns.isnan()
    count, filled = has.sum(0), columns.nan_to_num(0.0)
    mean = filled.sum(0) / count  # 0 / 0 is NaN
    is_t = how == "t" or len(values) > MAX_RESAMPLED_ROWS
    low, high = _student(columns, mean, count) if is_t else _bootstrap(filled, has, seed)
    too_few = count < MIN_ROWS
    low, high = (end.masked_fill(too_few, torch.nan).reshape(cells) for end in (low, high))
    agree = ((columns.sign() == mean.sign()) & has).sum(0).double() / count
    return Summary(mean.reshape(cells), low, high, agree.reshape(cells), count.reshape(cells))


def deviating(values: Float[Tensor, "row *cell"], cell: Sequence[int], most: int = 5) -> tuple[int, ...]:
    """The places (not the numbers) of the rows that deviate most from the mean of a cell, the farthest first."""
    index: tuple[slice | int, ...] = (slice(None), *cell)
    column = values[index].double()
    distance = (column - column.nanmean()).abs()
    order = distance.nan_to_num(-1.0).argsort(descending=True, stable=True)
    return tuple(int(row) for row in order[:most] if not distance[row].isnan())


def _bootstrap(
    filled: Float[Tensor, "row cell"], has: Tensor, seed: int
) -> tuple[Float[Tensor, " cell"], Float[Tensor, " cell"]]:
    """The percentiles of the means over rows that are drawn with replacement, the same ones for all cells."""
    n_rows = len(filled)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(max(n_rows, 1), (RESAMPLES, n_rows), generator=generator)
    times = torch.zeros(RESAMPLES, n_rows, dtype=torch.float64)
    times.scatter_add_(1, drawn, torch.ones_like(drawn, dtype=torch.float64))
    ends = torch.tensor([(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], dtype=torch.float64)
    parts = [
        torch.nanquantile((times @ some) / (times @ counted.double()), ends, dim=0)
        for some, counted in zip(filled.split(CELLS_AT_ONCE, 1), has.split(CELLS_AT_ONCE, 1), strict=True)
    ]
    low, high = torch.cat(parts, 1)
    return low, high


def _student(
    columns: Float[Tensor, "row cell"], mean: Float[Tensor, " cell"], count: Int[Tensor, " cell"]
) -> tuple[Float[Tensor, " cell"], Float[Tensor, " cell"]]:
    deviation = ((columns - mean).square().nansum(0) / (count - 1)).sqrt()
    quantiles = torch.ones_like(mean)
    for n_rows in count.unique().tolist():
        if n_rows >= MIN_ROWS:
            quantiles[count == n_rows] = t_quantile(n_rows - 1, (1 + CONFIDENCE) / 2)
    half = quantiles * deviation / count.sqrt()
    return mean - half, mean + half


def t_quantile(degrees: int, probability: float) -> float:
    """The quantile (above the median) of Student's t with as many degrees of freedom.

    With t = sqrt(degrees) tan(angle) the density is that of cos(angle)^(degrees - 1), which is summed on a grid.
    """
    angle = torch.linspace(0, torch.pi / 2, GRID, dtype=torch.float64)
    mass = torch.cumulative_trapezoid(angle.cos() ** (degrees - 1), angle)
    at = int(torch.searchsorted(mass / mass[-1], 2 * probability - 1))
    before, after = float(mass[at - 1]), float(mass[at])
    share = ((2 * probability - 1) * float(mass[-1]) - before) / (after - before)
    between = angle[at] + share * (angle[at + 1] - angle[at])
    return float(between.tan()) * degrees**0.5
