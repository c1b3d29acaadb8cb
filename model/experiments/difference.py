"""B − A of two measurements: row by row of one set in two models, or of two sets."""

from dataclasses import replace
from math import prod

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.experiments.intervals import (
    CONFIDENCE,
    MAX_RESAMPLED_ROWS,
    MIN_ROWS,
    RESAMPLES,
    Interval,
    Summary,
    summarise,
    t_quantile,
)
from headlight.model.experiments.measurement import Measurement

AT_ONCE = 2**22  # numbers of resampled means


def difference(a: Measurement, b: Measurement, paired: bool, how: Interval = "bootstrap", seed: int = 0) -> Summary:
    """Summarise B − A on the cells that both have.

    Args:
        a: the first measurement.
        b: the second, of the same axes.
        paired: whether both are of the same set. The difference is then taken row by row, so that what makes rows
            unlike does not widen the interval; else no row belongs to another, and no share has the mean's sign.
        how: as in `summarise`, also of more than 5,000 rows; of two sets "t" is Welch's.
        seed: decides which rows are resampled.

    Raises:
        InputError: they have no cell in common, or, if `paired`, no row.
    """
    a, b = common(a, b)
    if not paired:
        return _of_two_sets(a.measure.values.double(), b.measure.values.double(), how, seed)
    place_a, place_b = ({number: place for place, number in enumerate(measurement.rows)} for measurement in (a, b))
    numbers = [number for number in a.rows if number in place_b]
    if not numbers:
        raise InputError("No row was measured in both, so that there is no difference row by row. Measure more rows.")
    first, second = (
        measurement.measure.values.double()[[place[number] for number in numbers]]
        for measurement, place in ((a, place_a), (b, place_b))
    )
    return summarise(second - first, how, seed)


def common(a: Measurement, b: Measurement) -> tuple[Measurement, Measurement]:
    """Both on the cells that both have: the first layers and heads of each, and places of the same name.

    Raises:
        InputError: there are none.
    """
    if a.cell_axes != b.cell_axes:
        raise InputError(f"A is measured by {', '.join(a.cell_axes)}, B by {', '.join(b.cell_axes)}. Measure the same.")
    for axis in a.cell_axes:
        in_b = set(b.axis_labels(axis))
        labels = [label for label in a.axis_labels(axis) if label in in_b]
        if not labels:
            raise InputError(f"A and B have no {axis} in common. Measure another way, or name positions alike.")
        a, b = (_along(measurement, axis, labels) for measurement in (a, b))
    return a, b


def _along(measured: Measurement, axis: str, labels: list[str]) -> Measurement:
    known = measured.axis_labels(axis)
    if list(known) == labels:
        return measured
    places = torch.tensor([known.index(label) for label in labels])
    slot = measured.measure.axes.index(axis)
    named = {**measured.labels, axis: tuple(labels)} if axis in measured.labels else measured.labels
    measures = [
        measure and replace(measure, values=measure.values.index_select(slot, places))
        for measure in (measured.measure, measured.raw)
    ]
    assert measures[0] is not None  # every measurement has one
    return replace(measured, measure=measures[0], raw=measures[1], labels=named)


def _of_two_sets(a: Float[Tensor, "row_a *cell"], b: Float[Tensor, "row_b *cell"], how: Interval, seed: int) -> Summary:
    sides = [summarise(values, how, seed) for values in (a, b)]
    mean, count = sides[1].mean - sides[0].mean, torch.minimum(sides[0].count, sides[1].count)
    is_t = how == "t" or max(len(a), len(b)) > MAX_RESAMPLED_ROWS
    low, high = _welch(a, b, mean) if is_t else _resampled(a, b, seed)
    few = count < MIN_ROWS
    low, high = low.masked_fill(few, torch.nan), high.masked_fill(few, torch.nan)
    return Summary(mean, low, high, torch.full_like(mean, torch.nan), count)


def _resampled(
    a: Float[Tensor, "row_a *cell"], b: Float[Tensor, "row_b *cell"], seed: int
) -> tuple[Float[Tensor, "*cell"], Float[Tensor, "*cell"]]:
    """The percentiles of the difference of the means of both, each resampled by itself."""
    cells = a.shape[1:]
    ends = torch.tensor([(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    times = [_times(len(values), generator) for values in (a, b)]
    parts = []
    for some_a, some_b in zip(
        *(values.reshape(len(values), prod(cells)).split(AT_ONCE // RESAMPLES, 1) for values in (a, b)), strict=True
    ):
        means = [
            (drawn @ some.nan_to_num(0.0)) / (drawn @ (~some.isnan()).double())
            for drawn, some in zip(times, (some_a, some_b), strict=True)
        ]
        parts.append(torch.nanquantile(means[1] - means[0], ends, dim=0))
    low, high = torch.cat(parts, 1)
    return low.reshape(cells), high.reshape(cells)


def _times(n_rows: int, generator: torch.Generator) -> Float[Tensor, "resample row"]:
    """How often each row is drawn in each resample."""
    drawn = torch.randint(max(n_rows, 1), (RESAMPLES, n_rows), generator=generator)
    return torch.zeros(RESAMPLES, n_rows, dtype=torch.float64).scatter_add_(
        1, drawn, torch.ones(1, dtype=torch.float64).expand(drawn.shape)
    )


def _welch(
    a: Float[Tensor, "row_a *cell"], b: Float[Tensor, "row_b *cell"], mean: Float[Tensor, "*cell"]
) -> tuple[Float[Tensor, "*cell"], Float[Tensor, "*cell"]]:
    """Welch's interval, with the degrees of freedom rounded down."""
    errors, degrees = [], []
    for values in (a, b):
        count = (~values.isnan()).sum(0).double()
        deviation = values - values.nanmean(0)
        errors.append(deviation.square().nansum(0) / (count - 1) / count)
        degrees.append(count - 1)
    total = errors[0] + errors[1]
    of_both = total.square() / (errors[0].square() / degrees[0] + errors[1].square() / degrees[1])
    whole = of_both.nan_to_num(1.0).clamp(min=1).floor()
    quantiles = torch.ones_like(mean)
    for number in whole.unique().tolist():
        quantiles[whole == number] = t_quantile(int(number), (1 + CONFIDENCE) / 2)
    half = quantiles * total.sqrt()
    return mean - half, mean + half
