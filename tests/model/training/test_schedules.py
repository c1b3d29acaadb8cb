"""Learning rates, against numbers worked out by hand and against others' schedulers."""

import pytest
import torch
from transformers import get_inverse_sqrt_schedule

from headlight.model.training.schedules import Cosine, InverseSqrt


def optimizer(rate: float) -> torch.optim.Optimizer:
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)


def rates(scheduler: torch.optim.lr_scheduler.LRScheduler, n_steps: int) -> list[float]:
    learning_rates = []
    for _ in range(n_steps):
        learning_rates.append(float(scheduler.get_last_lr()[0]))
        scheduler.optimizer.step()
        scheduler.step()
    return learning_rates


def test_both_rise_in_a_straight_line_to_the_peak() -> None:
    for schedule in (InverseSqrt(peak=0.8, warmup=4), Cosine(peak=0.8, warmup=4, steps=10)):
        assert [schedule(step) for step in range(4)] == pytest.approx([0.2, 0.4, 0.6, 0.8])


def test_inverse_square_root_halves_when_the_steps_are_four_times_the_warm_up() -> None:
    schedule = InverseSqrt(peak=0.8, warmup=4)
    assert [schedule(step) for step in (15, 35, 63)] == pytest.approx([0.4, 0.8 / 3, 0.2])


def test_the_cosine_is_half_way_down_half_way_through_and_ends_at_zero() -> None:
    schedule = Cosine(peak=0.8, warmup=4, steps=12)
    assert [schedule(step) for step in (7, 11, 50)] == pytest.approx([0.4, 0.0, 0.0])


def test_inverse_square_root_is_transformers_own() -> None:
    theirs = rates(get_inverse_sqrt_schedule(optimizer(0.8), num_warmup_steps=5, timescale=5), 41)
    ours = InverseSqrt(peak=0.8, warmup=5)
    assert [ours(step) for step in range(40)] == pytest.approx(theirs[1:])  # theirs begins with a step at rate zero


def test_the_cosine_is_torch_s_own() -> None:
    falling = rates(torch.optim.lr_scheduler.CosineAnnealingLR(optimizer(0.8), T_max=25), 25)
    rising = rates(torch.optim.lr_scheduler.LinearLR(optimizer(0.8), start_factor=1 / 5, total_iters=4), 4)
    ours = Cosine(peak=0.8, warmup=5, steps=30)
    assert [ours(step) for step in range(29)] == pytest.approx(rising + falling)
