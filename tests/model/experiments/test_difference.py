"""B − A of two measurements, beside scipy's and hand-made numbers."""

import numpy as np
import pytest
import torch
from scipy import stats

from headlight.model.base.errors import InputError
from headlight.model.experiments.difference import common, difference
from headlight.model.experiments.measurement import Measurement
from headlight.model.experiments.tables import experiment_tables
from headlight.model.measure import Measure

RNG = np.random.default_rng(0)


def measured(values: np.ndarray, rows: tuple[int, ...] = (), positions: tuple[str, ...] = ()) -> Measurement:
    axes = ("row", "layer", "position" if positions else "head")
    measure = Measure("x", "logits", axes, torch.tensor(values))
    labels = {"position": positions} if positions else {}
    return Measurement(measure, labels, rows or tuple(range(1, len(values) + 1)))


def test_a_paired_difference_is_that_of_the_rows_that_both_have() -> None:
    a, b = RNG.normal(size=(6, 2, 3)), RNG.normal(size=(5, 2, 3)) + 1
    shared = difference(measured(a), measured(b, (2, 3, 4, 6, 9)), paired=True, how="t")
    change = b[:4] - a[[1, 2, 3, 5]]
    interval = stats.ttest_1samp(change, 0).confidence_interval(0.95)
    assert shared.mean.numpy() == pytest.approx(change.mean(0))
    assert shared.low.numpy() == pytest.approx(interval.low, abs=1e-6)  # a quantile summed on a grid
    assert shared.high.numpy() == pytest.approx(interval.high, abs=1e-6)
    assert (shared.count == 4).all()


def test_of_two_sets_the_interval_is_welchs() -> None:
    a, b = RNG.normal(size=(9, 1, 2)), 3 * RNG.normal(size=(30, 1, 2)) + 1
    both = difference(measured(a), measured(b), paired=False, how="t")
    test = stats.ttest_ind(b, a, equal_var=False)
    interval = test.confidence_interval(0.95)
    assert both.mean.numpy() == pytest.approx(b.mean(0) - a.mean(0))
    half, expected = (both.high - both.low).numpy() / 2, (interval.high - interval.low) / 2
    rounded_down = stats.t.ppf(0.975, np.floor(test.df)) / stats.t.ppf(0.975, test.df)
    assert half == pytest.approx(expected * rounded_down, abs=1e-6)
    resampled = difference(measured(a), measured(b), paired=False)
    # 2,000 resamples give each end to a few percent of the interval's width
    assert resampled.low.numpy() == pytest.approx(interval.low, abs=float(half.max()) / 3)
    assert resampled.share_of_sign.isnan().all()


def test_only_cells_that_both_have_are_compared() -> None:
    a, b = RNG.normal(size=(3, 4, 2)), RNG.normal(size=(3, 2, 3))
    first, second = common(measured(a), measured(b))
    assert first.measure.values.numpy() == pytest.approx(a[:, :2, :2])
    assert second.measure.values.numpy() == pytest.approx(b[:, :2, :2])
    named = common(measured(a, positions=("IO", "end")), measured(b, positions=("S", "end", "IO")))
    assert named[0].axis_labels("position") == named[1].axis_labels("position") == ("IO", "end")
    assert named[1].measure.values.numpy() == pytest.approx(b[:, :2, [2, 1]])
    with pytest.raises(InputError, match="no position in common"):
        common(measured(a, positions=("IO", "end")), measured(b, positions=("x", "y", "z")))


def test_the_tables_have_every_cell_of_every_side_and_one_cell_in_every_row() -> None:
    a, b = RNG.normal(size=(3, 2, 2)), RNG.normal(size=(3, 2, 2))
    tables = experiment_tables(measured(a), measured(b), interval="t", cell=(1, 0))
    cells = list(zip(*tables["cells"].values(), strict=True))
    assert len(cells) == 3 * 4
    means = {(side, layer, head): mean for side, layer, head, _, mean, *_ in cells}
    assert means["B - A", "L1", "H0"] == pytest.approx((b - a)[:, 1, 0].mean())
    assert means["B", "L0", "H1"] == pytest.approx(b[:, 0, 1].mean())
    assert list(tables["cell"]["value"]) == pytest.approx([*a[:, 1, 0], *b[:, 1, 0]])
    assert list(tables["rows"]["row"]) == [1, 2, 3, 1, 2, 3]
