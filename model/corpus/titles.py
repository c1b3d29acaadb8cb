"""A head's figures over a corpus: title, meaning and unit of each, and its change between two scans."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from headlight.model.corpus.tree import Tree


@dataclass(frozen=True)
class Figure:
    """Title, unit and description of a figure; one that is `signed` can be below zero."""

    title: str
    unit: str = ""
    meaning: str = ""
    signed: bool = False

    @property
    def named(self) -> str:
        """The title with the unit, as along an axis."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


WEIGHT = "attention weight"
# The names of HeadVis, in its order; then ours.
FIGURES = {
    "self_attention_score": Figure("Current token", WEIGHT, "Mean attention of a query to its own position."),
    "prev_token_score": Figure("Previous token", WEIGHT, "Mean attention of a query to the token before it."),
    "pattern_entropy": Figure(
        "Entropy", "nats", "Mean entropy of a query's weights, in nats: high is spread out, 0 is all on one key."
    ),
    "qk_distance": Figure("Distance", "tokens", "Mean distance in tokens between query and key, by weight."),
    "qk_distance_variance": Figure(
        "Variance of the distance", "tokens²", "Variance of that distance, over all queries."
    ),
    "induction_score": Figure(
        "Induction",
        WEIGHT,
        "Mean attention to the tokens behind earlier copies of the query's token, over queries that have a copy; "
        "weights below 0.01 count for nothing.",
    ),
    "duplicate_token_score": Figure(
        "Same token",
        WEIGHT,
        "Mean attention to earlier copies of the query's token, over queries that have a copy.",
    ),
    "first_token_score": Figure(
        "First token", WEIGHT, "Mean attention to the sequence's first token, over later queries."
    ),
    "punctuation_score": Figure(
        "Punctuation", WEIGHT, "Mean attention to earlier punctuation, over queries that have some before them."
    ),
    "value_weighted_distance": Figure(
        "Value-weighted distance",
        "tokens",
        "Mean distance in tokens, each weight counted by the length of what it writes: the value through W_O.",
    ),
    "write_share": Figure(
        "Share of the stream's norm",
        "share",
        "Mean length of what the head writes, as a share of the stream that its layer reads.",
    ),
    "loss_change": Figure(
        "Loss change, mean-ablated",
        "nats",
        "By how much the next token's loss rises (nats) when the head gives its mean output everywhere.",
        signed=True,
    ),
    "loss_change_active": Figure(
        "Loss change where active",
        "nats",
        "The same, at queries where more than half of the head's weight lies beyond the first token.",
        signed=True,
    ),
    "direct_effect": Figure(
        "Direct effect on the right token",
        "logits",
        "What the head adds to the right token's logit, less the mean logit, beyond what its mean output adds.",
        signed=True,
    ),
}


def figure(metric: str) -> Figure:
    """Return a figure's title and unit; an unknown one has the name in its tree."""
    return FIGURES.get(metric, Figure(metric.replace("_", " "), signed=True))


@dataclass(frozen=True, eq=False)
class Estimates:
    """One figure of every head with the ends of its 95% interval; NaN where there is none."""

    values: Float[np.ndarray, "layer head"]
    low: Float[np.ndarray, "layer head"]
    high: Float[np.ndarray, "layer head"]


def estimates(tree: Tree, metric: str) -> Estimates:
    """Return one figure of every head of a scan."""
    ends = np.full((3, tree.n_layers, tree.n_heads), np.nan)
    for (layer, head), row in tree.rows.items():
        value = row.values.get(metric)
        ends[:, layer, head] = (np.nan if value is None else value, *row.intervals.get(metric, (np.nan, np.nan)))
    return Estimates(*ends)


def change(a: Tree, b: Tree, metric: str) -> Estimates:
    """Return the change of one figure from scan A to scan B, for the layers and heads that both have.

    The interval assumes independent documents; over the same documents it is too wide.
    """
    n_layers, n_heads = min(a.n_layers, b.n_layers), min(a.n_heads, b.n_heads)
    of_a, of_b = (_cut(estimates(tree, metric), n_layers, n_heads) for tree in (a, b))
    values = of_b.values - of_a.values
    below = np.hypot(of_b.values - of_b.low, of_a.high - of_a.values)
    above = np.hypot(of_b.high - of_b.values, of_a.values - of_a.low)
    return Estimates(values, values - below, values + above)


def half_way(series: Sequence[Tree], metric: str) -> Float[np.ndarray, "layer head"]:
    """Return the training step from which on a head's figure stays nearer to its last value than to its first.

    NaN where the change is not significant: its interval includes 0, or there is none. `series` are scans of one model,
    in the order of their steps.
    """
    total = change(series[0], series[-1], metric)
    values = np.stack([estimates(tree, metric).values for tree in series])
    nearer = np.abs(values - values[-1]) < np.abs(values - values[0])
    stays = np.logical_and.accumulate(nearer[::-1])[::-1]
    steps = np.array([tree.provenance.step for tree in series if tree.provenance], dtype=float)
    return np.where((total.low > 0) | (total.high < 0), steps[stays.argmax(0)], np.nan)


def _cut(estimated: Estimates, n_layers: int, n_heads: int) -> Estimates:
    return Estimates(*(each[:n_layers, :n_heads] for each in (estimated.values, estimated.low, estimated.high)))
