"""The benchmark of experiments still runs, and both maps that it times are the same."""

import pytest
import torch

from headlight.model.experiments.running import run
from headlight.model.experiments.settings import ExperimentSettings
from tests.bench.experiments import RATIOS, measure, random_model, random_pairs, their_map

TINY = {"n_layers": 2, "d_model": 16, "n_heads": 2, "d_head": 8, "d_vocab": 64}


@pytest.mark.thorough
def test_the_benchmark_runs_and_times_the_same_map() -> None:
    figures = dict(measure(TINY, 3, 1, ExperimentSettings(batch=2)))
    assert figures.keys() >= RATIOS.keys()
    assert all(figures[name].clock > 0 for name in RATIOS)
    model, pairs = random_model(TINY), random_pairs(1, 64)
    raw = run(model, pairs, ExperimentSettings()).raw
    assert raw is not None
    torch.testing.assert_close(raw.values[0], their_map(model, pairs.rows[0])(), rtol=1e-5, atol=1e-5)
