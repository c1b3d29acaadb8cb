"""Plots of many of a kind: the steps of a continuation, a list of prompts, and the log of a training run."""

from collections.abc import Mapping, Sequence

import numpy as np

from headlight.app.figures import plots
from headlight.app.figures.layout import Plot
from headlight.app.figures.text import token_name

LOSSES = ("nats a token",)  # units of what falls by factors


def steps(
    probabilities: Mapping[str, np.ndarray],
    entropies: Mapping[str, np.ndarray],
    tokens: Sequence[str],
    words: Mapping[str, Sequence[str]] | None = None,
) -> list[Plot]:
    """Probability of each generated token [step], and entropy when it was generated [step], in nats.

    `words` tell more of a side's tokens, where they are others than A's.
    """
    named = [f"{step}  {token_name(token, step)}" for step, token in enumerate(tokens, 1)]
    likely, undecided = "Probability of the generated token", "Entropy of the next-token distribution"
    return [
        plots.lines(probabilities, named, title=likely, unit="probability", along="step", words=words),
        plots.lines(entropies, named, title=undecided, unit="nats", along="step"),
    ]


def prompts(values: np.ndarray, mean: np.ndarray, sd: np.ndarray, *, head: str, title: str, unit: str) -> list[Plot]:
    """A head's statistic over several prompts [prompt], and every head's mean and deviation [layer, head]."""
    known = values[np.isfinite(values)]
    own = plots.counts(known, title=f"{title} of {head}", unit=f"{title} ({unit})", y_title="prompts", share=0.7)
    called = f"{title} of every head, mean ± SD"
    every = plots.points(
        {"": mean},
        title=called,
        unit=unit,
        low={"": mean - sd},
        high={"": mean + sd},
        interval_name="mean ± standard deviation",
    )
    return [own, every] if len(known) > 1 else [every]


def training(
    steps: Sequence[float], by_unit: Mapping[str, Mapping[str, Sequence[float]]], harder: Sequence[float]
) -> list[list[Plot]]:
    """Curves of a training run, by unit and name; one plot a unit, one under the other.

    Steps and losses are on logarithmic axes; lines stand where the task grew `harder`.
    """
    at = np.asarray(steps)
    return [
        [
            plots.curves(
                {name: (at, np.asarray(values)) for name, values in named.items()},
                title=f"{'Loss' if unit in LOSSES else 'Scores'} along training",
                unit=unit,
                log=unit in LOSSES,
                log_steps=True,
                marks=() if unit in LOSSES else harder,
            )
        ]
        for unit, named in by_unit.items()
    ]
