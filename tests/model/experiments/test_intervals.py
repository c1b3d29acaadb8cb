"""Means over rows with intervals, beside scipy's."""

import numpy as np
import pytest
import torch
from scipy import stats

from headlight.model.experiments.intervals import deviating, summarise, t_quantile


def _values() -> torch.Tensor:
    values = torch.randn(23, 3, 2, generator=torch.Generator().manual_seed(1)).double().exp() - 1
    values[4:, 0, 1] = torch.nan  # a cell that few rows have
    values[1:, 2, 0] = torch.nan  # one that a single row has
    values[:, 2, 1] = torch.nan  # one that none has
    return values


def test_mean_sign_and_t_interval_are_those_of_scipy() -> None:
    values = _values()
    summary = summarise(values, "t")
    for cell in ((0, 0), (0, 1), (1, 0), (1, 1)):
        column = values[:, *cell].numpy()
        column = column[~np.isnan(column)]
        low, high = stats.t.interval(0.95, len(column) - 1, column.mean(), stats.sem(column))
        # The quantile is summed on a grid of 262,144: 1e-9 of it.
        assert summary.low[cell].item() == pytest.approx(low, rel=1e-7)
        assert summary.high[cell].item() == pytest.approx(high, rel=1e-7)
        assert summary.mean[cell].item() == pytest.approx(column.mean(), rel=1e-12)
        assert summary.share_of_sign[cell].item() == (np.sign(column) == np.sign(column.mean())).mean()
    assert summary.count.tolist() == [[23, 4], [23, 23], [1, 0]]
    assert summary.mean[2, 0] == values[0, 2, 0]
    assert summary.low[2].isnan().all()
    assert summary.mean[2, 1].isnan()


@pytest.mark.parametrize("degrees", [1, 2, 7, 99, 99_999])
def test_quantiles_are_those_of_scipy(degrees: int) -> None:
    assert t_quantile(degrees, 0.975) == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-6)  # as fine as the grid


def test_bootstrap_interval_is_that_of_scipy_but_for_the_draw() -> None:
    values = _values()
    summary = summarise(values, seed=3)
    column = values[:, 1, 0].numpy()
    theirs = stats.bootstrap((column,), np.mean, n_resamples=20_000, method="percentile", rng=0)
    # An end is a percentile of 2000 means: it varies by about 0.06 of their standard deviation.
    slack = 0.25 * float(theirs.standard_error)
    assert summary.low[1, 0].item() == pytest.approx(theirs.confidence_interval.low, abs=slack)
    assert summary.high[1, 0].item() == pytest.approx(theirs.confidence_interval.high, abs=slack)
    assert torch.equal(summary.low.nan_to_num(), summarise(values, seed=3).low.nan_to_num())
    assert not torch.equal(summary.low.nan_to_num(), summarise(values, seed=4).low.nan_to_num())
    assert summary.low[2].isnan().all()


def test_many_rows_are_not_resampled() -> None:
    values = torch.randn(5001, 2, generator=torch.Generator().manual_seed(0))
    assert torch.equal(summarise(values).low, summarise(values, "t").low)


def test_the_rows_that_deviate_most_come_first() -> None:
    values = torch.tensor([[0.0], [5.0], [torch.nan], [-9.0], [1.0]])
    assert deviating(values, (0,), 2) == (3, 1)
    assert deviating(values, (0,), 9) == (3, 1, 4, 0)
