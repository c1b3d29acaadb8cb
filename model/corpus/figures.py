"""Figures of a head over a corpus, from sums over its documents, with confidence intervals.

A figure is a function of the totals of some quantities. Documents are independent, positions are not: the interval is
over documents, by the function's slope at the totals (the delta method; of a ratio, the usual ratio estimator).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from headlight.model.corpus.measures import AT, Quantity
from headlight.model.corpus.titles import Estimates
from headlight.model.roles.detectors import students_t

Heads = Float[np.ndarray, "layer head"]


# Numerator and denominator of each figure; both are totals over documents.
RATIOS: Mapping[str, tuple[Quantity, Quantity]] = {
    "self_attention_score": ("self", "queries"),
    "prev_token_score": ("previous", "later_queries"),
    "pattern_entropy": ("entropy", "queries"),
    "qk_distance": ("distance", "queries"),
    "qk_distance_variance": ("squared_distance", "queries"),
    "induction_score": ("induction", "repeats"),
    "duplicate_token_score": ("duplicate", "repeats"),
    "first_token_score": ("first", "later_queries"),
    "punctuation_score": ("punctuation", "after_marks"),
    "value_weighted_distance": ("written_distance", "written"),
    "write_share": ("write_share", "queries"),
}
VARIANCE = "qk_distance_variance"


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of every head's quantities over documents: totals, products of any two, and nonzero counts."""

    totals: Float[np.ndarray, "layer head quantity"]
    products: Float[np.ndarray, "layer head quantity quantity"]
    counts: Int[np.ndarray, "layer head quantity"]

    @classmethod
    def from_documents(cls, documents: Float[np.ndarray, "document layer head quantity"]) -> "Moments":
        """The moments of some documents' sums."""
        products = np.einsum("dlhi,dlhj->lhij", documents, documents)
        return cls(documents.sum(0), products, np.count_nonzero(documents, axis=0))

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(self.totals + other.totals, self.products + other.products, self.counts + other.counts)


def estimate(moments: Moments, name: str) -> Estimates:
    """One of `RATIOS` with its interval over documents; NaN where there is nothing, or one document alone."""
    above, below = (AT[each] for each in RATIOS[name])
    return ratio(moments, above, below, is_variance=name == VARIANCE)


def ratio(moments: Moments, above: int, below: int, is_variance: bool = False) -> Estimates:
    """Ratio of two quantities' totals, or with `is_variance` that minus the squared mean distance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        total, slope = moments.totals[..., below], np.zeros_like(moments.totals)
        value = moments.totals[..., above] / total
        slope[..., above], slope[..., below] = 1 / total, -value / total
        if is_variance:
            value = _variance(moments, value, slope)
        return _with_interval(value, slope, moments.products, moments.counts[..., below])


def _variance(moments: Moments, second: Heads, slope: Float[np.ndarray, "layer head quantity"]) -> Heads:
    """Second moment of the distance minus its squared mean; `slope` becomes that of the difference."""
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
) -> Estimates:
    # A figure is invariant to scaling all quantities, so its linear part sums to 0 over documents, and `products` gives
    # the sum of its squares.
    squares = np.einsum("lhi,lhij,lhj->lh", slope, products, slope).clip(min=0)
    known, place = np.unique(counts, return_inverse=True)
    t = np.array([students_t(n - 1) if n > 1 else np.nan for n in known.tolist()])[place.reshape(counts.shape)]
    reach = t * np.sqrt(squares * counts / (counts - 1))
    return Estimates(value, value - reach, value + reach)
