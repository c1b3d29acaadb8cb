"""The figures of a head over a corpus, made of sums over its documents, and how sure each is.

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


# Of each figure one quantity, and the one for each of which its total is taken.
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
    """Quantities of every head added up over documents: totals, products of any two, and in how many each is not 0."""

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
    """The ratio of two quantities' totals, or with `is_variance` that less the mean distance's square."""
    with np.errstate(divide="ignore", invalid="ignore"):
        total, slope = moments.totals[..., below], np.zeros_like(moments.totals)
        value = moments.totals[..., above] / total
        slope[..., above], slope[..., below] = 1 / total, -value / total
        if is_variance:
            value = _variance(moments, value, slope)
        return _with_interval(value, slope, moments.products, moments.counts[..., below])


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
) -> Estimates:
    # A figure does not change where all quantities grow alike, so that its linear part sums to 0 over documents, and
    # the sum of its squares is what `products` gives.
    squares = np.einsum("lhi,lhij,lhj->lh", slope, products, slope).clip(min=0)
    known, place = np.unique(counts, return_inverse=True)
    t = np.array([students_t(n - 1) if n > 1 else np.nan for n in known.tolist()])[place.reshape(counts.shape)]
    reach = t * np.sqrt(squares * counts / (counts - 1))
    return Estimates(value, value - reach, value + reach)
