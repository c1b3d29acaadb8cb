"""Align the tokens of two runs, and put both runs' values on the common axis.

Place p of the common axis is position a[p] in run A and b[p] in run B; None where a run lacks it. Positions keep their
order in both, so what is causal in the runs is causal on the common axis.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

import torch
from jaxtyping import Float, Shaped
from rapidfuzz.distance import LCSseq
from torch import Tensor

from headlight.model.measure import Measure
from headlight.model.measure.attention import js_divergence

Presence = Literal["both", "changed", "a", "b"]
Align = Literal["tokens", "position"]
Positions = Sequence[int | None]
Matches = Sequence[tuple[int, int]]
"""Positions of A and of B that belong together."""


@dataclass(frozen=True)
class Alignment:
    """The common axis of two runs: the position in A and the one in B of each place, None where a run lacks it."""

    a: tuple[int | None, ...]
    b: tuple[int | None, ...]

    def __len__(self) -> int:
        return len(self.a)


def align_tokens(a: Sequence[Hashable], b: Sequence[Hashable]) -> Alignment:
    """Match the tokens of a longest common subsequence; of those between two matches, A's stand before B's."""
    places: list[tuple[int | None, int | None]] = []
    i = j = 0
    for match in LCSseq.editops(a, b).as_matching_blocks():
        places += [(only_a, None) for only_a in range(i, match.a)]
        places += [(None, only_b) for only_b in range(j, match.b)]
        i, j = match.a + match.size, match.b + match.size
        places += zip(range(match.a, i), range(match.b, j), strict=True)
    return Alignment(tuple(in_a for in_a, _ in places), tuple(in_b for _, in_b in places))


def align_positions(n_a: int, n_b: int) -> Alignment:
    """Match equal positions, whatever tokens they hold; only the longer run has the last places."""
    places = list(zip_longest(range(n_a), range(n_b)))
    return Alignment(tuple(in_a for in_a, _ in places), tuple(in_b for _, in_b in places))


def aligned(a: Sequence[Hashable], b: Sequence[Hashable], by: Align = "tokens") -> Alignment:
    """Match the tokens of a longest common subsequence, or equal positions."""
    return align_positions(len(a), len(b)) if by == "position" else align_tokens(a, b)


def match_positions(a: Sequence[Hashable], b: Sequence[Hashable], by: Align = "tokens") -> tuple[tuple[int, int], ...]:
    """Match each position of B to one of A: equal ones where there are as many tokens.

    Else by tokens: those of a longest common subsequence, and between two matches one token for another where there
    are as many. Or by position: equal ones, and what is left of the longer run belongs to none.
    """
    if by == "position" or len(a) == len(b):
        return tuple((position, position) for position in range(min(len(a), len(b))))
    pairs: list[tuple[int, int]] = []
    i = j = 0
    for match in LCSseq.editops(a, b).as_matching_blocks():
        if match.a - i == match.b - j:
            pairs += zip(range(i, match.a), range(j, match.b), strict=True)
        i, j = match.a + match.size, match.b + match.size
        pairs += zip(range(match.a, i), range(match.b, j), strict=True)
    return tuple(pairs)


def presence(alignment: Alignment, a_tokens: Sequence[Hashable], b_tokens: Sequence[Hashable]) -> tuple[Presence, ...]:
    """For each place whether both runs have it, with the same token or a changed one, or A or B alone."""

    def at(i: int | None, j: int | None) -> Presence:
        if i is None or j is None:
            return "b" if i is None else "a"
        return "both" if a_tokens[i] == b_tokens[j] else "changed"

    return tuple(map(at, alignment.a, alignment.b))


def on_axis(
    values: Shaped[Tensor, "..."], positions: Positions, fill: float, dims: Sequence[int] = (-1,)
) -> Shaped[Tensor, "..."]:
    """One run's values with the common axis in place of its positions along `dims`, `fill` where the run has none."""
    index = torch.tensor([0 if position is None else position for position in positions], device=values.device)
    absent = torch.tensor([position is None for position in positions], device=values.device).nonzero().flatten()
    for dim in dims:
        values = values.index_select(dim, index).index_fill_(dim, absent, fill)
    return values


def pattern_divergence(
    a: Float[Tensor, "*head pos_a pos_a"], b: Float[Tensor, "*head pos_b pos_b"], alignment: Alignment
) -> Measure:
    """Jensen-Shannon divergence of A's and B's attention rows at each place, 0 to log 2 nats.

    A key that one run lacks has weight 0 there; NaN where the query is not in both runs.
    """
    return js_divergence(_rows(a, alignment.a), _rows(b, alignment.b))


def _rows(pattern: Float[Tensor, "*head pos pos"], positions: Positions) -> Float[Tensor, "*head query key"]:
    """A run's pattern on the common axis: weight 0 on a key that it lacks, a row of NaN for a query that it lacks."""
    return on_axis(on_axis(pattern, positions, 0.0), positions, torch.nan, dims=(-2,))
