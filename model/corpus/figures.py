"""The figures of a head over a corpus, made of sums over its documents, and how sure each is.

A figure is a function of the totals of some quantities. Documents are independent, positions are not: the interval is
over documents, by the function's slope at the totals (the delta method; of a ratio, the usual ratio estimator).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from headlight.model.analysis.detectors import students_t
from headlight.model.corpus.measures import AT, QUANTITIES, Quantity

Heads = Float[np.ndarray, "layer head"]


@dataclass(frozen=True)
class Ratio:
    """One quantity's total for each of another, and what that means."""

    above: Quantity
    below: Quantity
    meaning: str


# The names of HeadVis, in its order; then ours.
FIGURES: Mapping[str, Ratio] = {
    "self_attention_score": Ratio("self", "queries", "Mean attention of a query to its own position."),
    "prev_token_score": Ratio("previous", "later_queries", "Mean attention of a query to the token before it."),
    "pattern_entropy": Ratio(
        "entropy", "queries", "Mean entropy of a query's weights, in nats: high is spread out, 0 is all on one key."
    ),
    "qk_distance": Ratio("distance", "queries", "Mean distance in tokens between query and key, by weight."),
    "qk_distance_variance": Ratio("squared_distance", "queries", "Variance of that distance, over all queries."),
    "induction_score": Ratio(
        "induction",
        "repeats",
        "Mean attention to the tokens behind earlier copies of the query's token, over queries that have a copy; "
        "weights below 0.01 count for nothing.",
    ),
    "duplicate_token_score": Ratio(
        "duplicate", "repeats", "Mean attention to earlier copies of the query's token, over queries that have a copy."
    ),
    "first_token_score": Ratio(
        "first", "later_queries", "Mean attention to the sequence's first token, over later queries."
    ),
    "punctuation_score": Ratio(
        "punctuation", "after_marks", "Mean attention to earlier punctuation, over queries that have some before them."
    ),
    "value_weighted_distance": Ratio(
        "written_distance",
        "written",
        "Mean distance in tokens, each weight counted by the length of what it writes: the value through W_O.",
    ),
    "write_share": Ratio(
        "write_share", "queries", "Mean length of what the head writes, as a share of the stream that its layer reads."
    ),
}
VARIANCE = "qk_distance_variance"


@dataclass(frozen=True, eq=False)
class Moments:
    """Quantities of every head added up over documents: totals, products of any two, and in how many each is not 0."""

    totals: Float[np.ndarray, "layer head quantity"]
    products: Float[np.ndarray, "layer head quantity quantity"]
    counts: Int[np.ndarray, "layer head quantity"]

    @classmethod
    def of(cls, documents: Float[np.ndarray, "document layer head quantity"]) -> "Moments":
        """The moments of some documents' sums."""
        products = np.einsum("dlhi,dlhj->lhij", documents, documents)
        return cls(documents.sum(0), products, np.count_nonzero(documents, axis=0))

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(self.totals + other.totals, self.products + other.products, self.counts + other.counts)


@dataclass(frozen=True, eq=False)
class Estimated:
    """A figure of every head with the ends of its 95% interval; NaN where there is nothing, or one document alone."""

    value: Heads
    low: Heads
    high: Heads


def ratio(moments: Moments, above: int, below: int) -> Estimated:
    """The ratio of two quantities' totals, with its interval over documents."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value, slope = _ratio(moments, above, below)
        return _with_interval(value, slope, moments.products, moments.counts[..., below])


def estimate(moments: Moments, name: str) -> Estimated:
    """One of `FIGURES` with its interval over documents."""
    above, below = AT[FIGURES[name].above], AT[FIGURES[name].below]
    if name != VARIANCE:
        return ratio(moments, above, below)
    with np.errstate(divide="ignore", invalid="ignore"):
        value, slope = _ratio(moments, above, below)
        value = _variance(moments, value, slope)
        return _with_interval(value, slope, moments.products, moments.counts[..., below])


def _ratio(moments: Moments, above: int, below: int) -> tuple[Heads, Float[np.ndarray, "layer head quantity"]]:
    """A ratio, and its slope in every quantity."""
    total, slope = moments.totals[..., below], np.zeros_like(moments.totals)
    value = moments.totals[..., above] / total
    slope[..., above], slope[..., below] = 1 / total, -value / total
    return value, slope


def _variance(moments: Moments, second: Heads, slope: Float[np.ndarray, "layer head quantity"]) -> Heads:
    """The second moment of the distance less its mean's square; the slope is changed to that of this."""
    total = moments.totals[..., AT["queries"]]
    mean = moments.totals[..., AT["distance"]] / total
    slope[..., AT["distance"]] -= 2 * mean / total
    slope[..., AT["queries"]] += 2 * mean**2 / total
    return second - mean**2


def _with_interval(
    value: Heads,
    slope: Float[np.ndarray, "layer head quantity"],
    products: Float[np.ndarray, "layer head quantity quantity"],
    counts: Int[np.ndarray, "layer head"],
) -> Estimated:
    # A figure does not change where all quantities grow alike, so that its linear part sums to 0 over documents, and
    # the sum of its squares is what `products` gives.
    squares = np.einsum("lhi,lhij,lhj->lh", slope, products, slope).clip(min=0)
    known, place = np.unique(counts, return_inverse=True)
    t = np.array([students_t(n - 1) if n > 1 else np.nan for n in known.tolist()])[place.reshape(counts.shape)]
    reach = t * np.sqrt(squares * counts / (counts - 1))
    return Estimated(value, value - reach, value + reach)


assert {figure.above for figure in FIGURES.values()} | {figure.below for figure in FIGURES.values()} <= set(QUANTITIES)
