"""What a head's figures over a corpus are called, their units, and how one changes between two scans.

HeadVis's own six come first, by its names.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from headlight.model.corpus.tree import Tree


@dataclass(frozen=True)
class Figure:
    """A figure's title and unit; one that is `signed` can be below zero."""

    title: str
    unit: str = ""
    signed: bool = False

    @property
    def named(self) -> str:
        """The title with the unit, as along an axis."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


WEIGHT = "attention weight"
FIGURES = {
    "self_attention_score": Figure("Current token", WEIGHT),
    "prev_token_score": Figure("Previous token", WEIGHT),
    "pattern_entropy": Figure("Entropy", "nats"),
    "qk_distance": Figure("Distance", "tokens"),
    "qk_distance_variance": Figure("Variance of the distance", "tokens²"),
    "induction_score": Figure("Induction", WEIGHT),
    "duplicate_token_score": Figure("Same token", WEIGHT),
    "first_token_score": Figure("First token", WEIGHT),
    "punctuation_score": Figure("Punctuation", WEIGHT),
    "value_weighted_distance": Figure("Value-weighted distance", "tokens"),
    "write_share": Figure("Share of the stream's norm", "share"),
    "loss_change": Figure("Loss change, mean-ablated", "nats", signed=True),
    "loss_change_active": Figure("Loss change where active", "nats", signed=True),
    "direct_effect": Figure("Direct effect on the right token", "logits", signed=True),
}


def figure(metric: str) -> Figure:
    """What a figure is called: one that nobody here knows by the name that its tree gives it."""
    return FIGURES.get(metric, Figure(metric.replace("_", " "), signed=True))


@dataclass(frozen=True, eq=False)
class Estimates:
    """One figure of every head with the ends of its 95% interval; NaN where there is none."""

    values: Float[np.ndarray, "layer head"]
    low: Float[np.ndarray, "layer head"]
    high: Float[np.ndarray, "layer head"]


def estimates(tree: Tree, metric: str) -> Estimates:
    """One figure of every head of a scan."""
    return Estimates(tree.values(metric), *tree.ends(metric))


def change(a: Tree, b: Tree, metric: str) -> Estimates:
    """How one figure changes from scan A to scan B, for the layers and heads that both have.

    The interval takes the scans' documents as drawn apart: over the same documents the change is surer than it says.
    """
    n_layers, n_heads = min(a.n_layers, b.n_layers), min(a.n_heads, b.n_heads)
    of_a, of_b = (_cut(estimates(tree, metric), n_layers, n_heads) for tree in (a, b))
    values = of_b.values - of_a.values
    below = np.hypot(of_b.values - of_b.low, of_a.high - of_a.values)
    above = np.hypot(of_b.high - of_b.values, of_a.values - of_a.low)
    return Estimates(values, values - below, values + above)


def _cut(found: Estimates, n_layers: int, n_heads: int) -> Estimates:
    return Estimates(*(each[:n_layers, :n_heads] for each in (found.values, found.low, found.high)))
