"""The learning rate at the points where it is known."""

import pytest

from model.training.schedules import warmup_then_cosine


@pytest.mark.parametrize(
    ("step", "rate"),
    [(0, 0.25), (3, 1.0), (4, 1.0), (9, 0.55), (14, 0.1), (100, 0.1)],  # halfway down the cosine at 9
)
def test_rises_to_the_peak_and_falls_to_the_floor(step: int, rate: float) -> None:
    assert warmup_then_cosine(step, peak=1.0, warmup=4, total=14, floor=0.1) == pytest.approx(rate)
