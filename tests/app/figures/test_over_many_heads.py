"""The plot of every head's score, of a small model and of a large one."""

import numpy as np
import pytest

from headlight.app.figures.plots import points
from headlight.app.figures.several import prompts


@pytest.mark.parametrize(("shape", "has_bars"), [((30, 9), True), ((32, 32), False)])
def test_intervals_of_many_heads_are_in_their_tooltips_alone(shape: tuple[int, int], has_bars: bool) -> None:
    """1,024 of them would be a band in which no point is seen."""
    values = np.linspace(0, 1, np.prod(shape)).reshape(shape)
    (trace,) = points(
        {"": values}, title="scores", unit="score", low={"": values - 0.25}, high={"": values + 0.5}
    ).traces
    assert ("error_y" in trace) == has_bars
    assert trace["hovertext"][0].split("<br>") == ["L0H0 ", "0 score", "95%: −0.25 score to 0.5 score"]


def test_a_standard_deviation_over_prompts_is_not_called_a_confidence_interval() -> None:
    mean, sd = np.array([[1.0]]), np.array([[0.25]])
    (plot,) = prompts(np.array([1.0]), mean, sd, head="L0H0", title="entropy", unit="nats")
    (trace,) = plot.traces
    assert plot.title == "entropy of every head, mean ± SD"
    assert "mean ± standard deviation: 0.75 nats to 1.25 nats" in trace["hovertext"][0].split("<br>")
