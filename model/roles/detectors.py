"""Detect kinds of heads: scores over many sequences, their confidence intervals, and the rules for a label.

A score is the mean weight that a sequence's queries put on one kind of key. Sequences are independent, the queries of
one are not: means and intervals are over sequences. What is chance is the score of a head that looks at all alike.
"""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.model.measure import Measure
from headlight.model.measure.attention import head_scores
from headlight.model.measure.spread import spread

Kind = Literal[
    "induction", "previous_token", "duplicate_token", "first_token", "current_token", "local_window", "punctuation"
]
KINDS: tuple[Kind, ...] = get_args(Kind)
WINDOW = 5  # tokens that are near: the query and four before it
CONFIDENCE = 0.95

# A position alone gives a head that looks near, or at the first token, some weight there: more than half of all it has
# is more than it gives to everything else. On a copy, or behind one, hardly anything but the copy brings weight: 0.3 is
# from where the heads of the model that comes with this cannot be taken away without its repeats failing (its card).
MIN_SCORES: dict[Kind, float] = dict.fromkeys(KINDS, 0.5) | {"induction": 0.3, "duplicate_token": 0.3}
TIMES_CHANCE = 2  # and so many times what a head has there that looks at all alike: few keys, or many punctuation marks

# Kinds for which an ablation lowers the accuracy on repeats if the label is right.
TESTED_BY_REPEATS: tuple[Kind, ...] = ("induction", "previous_token")

Verdict = Literal["supported", "not supported", "not measured", "not tested"]


def is_punctuation(text: str) -> bool:
    """Whether a token is nothing but punctuation (Unicode's categories P), spaces around it aside."""
    marks = text.strip()
    return bool(marks) and all(unicodedata.category(mark).startswith("P") for mark in marks)


def detector_scores(
    pattern: Float[Tensor, "head pos pos"], tokens: Int[Tensor, " pos"], punctuation: Bool[Tensor, " pos"]
) -> dict[Kind, Measure]:
    """Scores of each head on one sequence: five of `head_scores`, and two more (probability).

    - local_window: the query and the four keys before it, over the queries from the sixth on, which have a choice.
    - punctuation: the earlier keys that `punctuation` marks, over the queries that have one.

    A score is NaN where no query has such a key.
    """
    place = torch.arange(len(tokens), device=tokens.device)
    back = place[:, None] - place
    near = (back >= 0) & (back < WINDOW) & (place >= WINDOW)[:, None]
    marks = (back > 0) & punctuation
    five = head_scores(pattern, tokens)
    return {
        "induction": five.induction,
        "previous_token": five.previous_token,
        "duplicate_token": five.duplicate_token,
        "first_token": five.first_token,
        "current_token": five.current_token,
        "local_window": _mean_weight("local window", pattern, near),
        "punctuation": _mean_weight("punctuation", pattern, marks),
    }


def chance_scores(
    mask: Bool[Tensor, "pos pos"], tokens: Int[Tensor, " pos"], punctuation: Bool[Tensor, " pos"]
) -> dict[Kind, Measure]:
    """The scores of a head that gives every key that it can see the same weight; without axes."""
    even = mask.float() / mask.sum(-1, keepdim=True)
    scores = detector_scores(even[None], tokens, punctuation)
    return {kind: replace(each, axes=(), values=each.values[0]) for kind, each in scores.items()}


def _mean_weight(name: str, pattern: Float[Tensor, "head pos pos"], cells: Bool[Tensor, "pos pos"]) -> Measure:
    """The weight in these cells, summed over a query's keys and averaged over the queries that have one."""
    sums = torch.stack([head[cells].sum() for head in pattern])  # one head at a time: no fresh memory of a layer's size
    return Measure(name, "probability", ("head",), sums / cells.any(-1).sum())


@dataclass(frozen=True, eq=False)
class Estimate:
    """A mean over sequences with its 95% interval (Student's t), in the measure's unit, and how many sequences count.

    The interval is NaN for fewer than two sequences. It is that of the mean, and may reach beyond what a score can be.
    """

    mean: Measure
    low: Measure
    high: Measure
    count: Int[Tensor, "..."]


def estimate(measures: Sequence[Measure]) -> Estimate:
    """One measure over sequences; where it is NaN, that sequence counts for nothing."""
    over = spread(measures)
    counts, place = over.count.unique(return_inverse=True)
    t = torch.tensor([students_t(n - 1) if n > 1 else math.nan for n in counts.tolist()])
    reach = t[place] * over.sd.values / over.count.sqrt()
    bounds = {"lower": over.mean.values - reach, "upper": over.mean.values + reach}
    low, high = (replace(over.mean, name=f"{end} end of {over.mean.name}", values=v) for end, v in bounds.items())
    return Estimate(over.mean, low, high, over.count)


def students_t(degrees: int, confidence: float = CONFIDENCE) -> float:
    """Half-width in standard errors of a mean's two-sided confidence interval: Student's t.

    Source: Abramowitz and Stegun 1964, 26.7.3 and 26.7.4, solved by halving.
    """
    low, high = 0.0, math.pi / 2
    for _ in range(60):  # halvings; the 53 bits of a float are then through
        theta = (low + high) / 2
        low, high = (theta, high) if _within(theta, degrees) < confidence else (low, theta)
    return math.sqrt(degrees) * math.tan(low)


def _within(theta: float, degrees: int) -> float:
    """The probability that |t| is below sqrt(degrees) * tan(theta)."""
    sine, cosine = math.sin(theta), math.cos(theta)
    term, total = (cosine if degrees % 2 else 1.0), 0.0
    for power in range(degrees % 2, degrees - 1, 2):
        total += term
        term *= cosine**2 * (power + 1) / (power + 2)
    return 2 / math.pi * (theta + sine * total) if degrees % 2 else sine * total


def ranks(scores: Measure) -> Measure:
    """Rank of every head by a score, 1 for the largest; ties share the better rank, NaN has 0."""
    flat = scores.values.flatten()
    places = (flat[None] > flat[:, None]).sum(-1) + 1
    values = torch.where(flat.isnan(), 0, places).reshape(scores.values.shape)
    return Measure(f"rank by {scores.name}", "rank", scores.axes, values)


def head_labels(
    estimates: Mapping[Kind, Estimate], chance: Mapping[Kind, float]
) -> dict[tuple[int, int], tuple[Kind, ...]]:
    """Label heads by their patterns: the labels of each (layer, head) that has any, the largest score first.

    A label holds where the lower end of the score's interval reaches `MIN_SCORES` and `TIMES_CHANCE` times chance. A
    previous-token or current-token head is not also called local.
    """
    scores: dict[tuple[int, int], dict[Kind, float]] = {}
    for kind, each in estimates.items():
        holds = (each.low.values >= MIN_SCORES[kind]) & (each.mean.values >= TIMES_CHANCE * chance[kind])
        for layer, head in holds.nonzero().tolist():
            scores.setdefault((layer, head), {})[kind] = float(each.mean.values[layer, head])
    for kinds in scores.values():
        if "previous_token" in kinds or "current_token" in kinds:
            kinds.pop("local_window", None)
    return {head: tuple(sorted(kinds, key=kinds.__getitem__, reverse=True)) for head, kinds in sorted(scores.items())}


def verdict(kind: Kind, lows: Sequence[float]) -> Verdict:
    """Whether ablating a head on repeats supports its label: the loss of the second copies rises (nats).

    `lows` are the lower ends of the intervals of the change, one an ablation; all have to lie above 0. Labels that say
    nothing of repeats are not tested by them.
    """
    if kind not in TESTED_BY_REPEATS:
        return "not tested"
    if not lows:
        return "not measured"
    return "supported" if all(low > 0 for low in lows) else "not supported"
