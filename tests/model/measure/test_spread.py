"""Mean and standard deviation over prompts, against Python's own statistics."""

import math
import statistics

import pytest
import torch

from headlight.model.measure import Measure
from headlight.model.measure.spread import spread

NAN = math.nan


def _measure(*values: float) -> Measure:
    return Measure("induction", "probability", ("layer", "head"), torch.tensor([values]))


def test_mean_and_deviation_are_those_of_the_values() -> None:
    columns = [[0.1, 0.5, 0.9, 0.2], [0.3, 0.3, 0.3, 0.3]]
    summary = spread([_measure(*row) for row in zip(*columns, strict=True)])
    for head, column in enumerate(columns):
        # float32 carries seven digits.
        assert summary.mean.values[0, head].item() == pytest.approx(statistics.mean(column), rel=1e-6)
        assert summary.sd.values[0, head].item() == pytest.approx(statistics.stdev(column), rel=1e-6, abs=1e-7)
    assert summary.count.tolist() == [[4, 4]]
    assert summary.mean.name == "mean induction"
    assert summary.sd.unit == summary.mean.unit == "probability"


def test_a_prompt_without_a_value_counts_for_nothing() -> None:
    summary = spread([_measure(0.25, NAN, NAN), _measure(0.75, 0.5, NAN)])
    assert summary.count.tolist() == [[2, 1, 0]]
    assert summary.mean.values[0, :2].tolist() == [0.5, 0.5]
    assert summary.sd.values[0, 0].item() == pytest.approx(statistics.stdev([0.25, 0.75]), rel=1e-6)  # float32
    assert summary.sd.values[0, 1:].isnan().all()
    assert summary.mean.values[0, 2].isnan()
