"""The common axis of two runs against a brute-force subsequence, cases by hand and sums that must agree."""

import math
from collections.abc import Sequence
from itertools import combinations, pairwise

import torch
from hypothesis import given
from hypothesis import strategies as st

from headlight.model.measure.alignment import (
    Alignment,
    align_positions,
    align_tokens,
    match_positions,
    on_axis,
    pattern_divergence,
    presence,
)

TOKENS = st.lists(st.integers(0, 3), max_size=8)


def common_length(a: Sequence[int], b: Sequence[int]) -> int:
    """The length of a longest common subsequence, by trying all subsequences of A."""

    def in_b(tokens: tuple[int, ...]) -> bool:
        rest = iter(b)
        return all(token in rest for token in tokens)

    return max(n for n in range(len(a) + 1) if any(map(in_b, combinations(a, n))))


def causal_pattern(n: int, seed: int = 0) -> torch.Tensor:
    scores = torch.randn(2, n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return scores.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(diagonal=1), -torch.inf).softmax(dim=-1)


@given(TOKENS, TOKENS)
def test_tokens_are_aligned_along_a_longest_common_subsequence(a: list[int], b: list[int]) -> None:
    alignment = align_tokens(a, b)
    both = [(i, j) for i, j in zip(alignment.a, alignment.b, strict=True) if i is not None and j is not None]
    assert all(a[i] == b[j] for i, j in both)
    assert len(both) == common_length(a, b)


@given(TOKENS, TOKENS)
def test_every_token_has_one_place_and_the_runs_keep_their_order(a: list[int], b: list[int]) -> None:
    for alignment in (align_tokens(a, b), align_positions(len(a), len(b))):
        assert [i for i in alignment.a if i is not None] == list(range(len(a)))
        assert [j for j in alignment.b if j is not None] == list(range(len(b)))
        assert (None, None) not in zip(alignment.a, alignment.b, strict=True)


def test_between_two_matches_what_a_alone_has_comes_first() -> None:
    alignment = align_tokens([7, 1, 2, 8, 5], [7, 3, 4, 8])
    assert alignment == Alignment(a=(0, 1, 2, None, None, 3, 4), b=(0, None, None, 1, 2, 3, None))
    assert len(alignment) == 7
    assert presence(alignment, [7, 1, 2, 8, 5], [7, 3, 4, 8]) == ("both", "a", "a", "b", "b", "both", "a")


def test_positions_are_aligned_whatever_tokens_they_hold() -> None:
    alignment = align_positions(2, 3)
    assert alignment == Alignment(a=(0, 1, None), b=(0, 1, 2))
    assert presence(alignment, [5, 6], [5, 7, 8]) == ("both", "changed", "b")
    assert align_positions(1, 0) == Alignment(a=(0,), b=(None,))


@given(st.lists(st.integers(0, 50256), max_size=30))
def test_a_prompt_is_aligned_to_itself_place_by_place(tokens: list[int]) -> None:
    alignment = align_tokens(tokens, tokens)
    assert alignment == align_positions(len(tokens), len(tokens))
    assert set(presence(alignment, tokens, tokens)) <= {"both"}


def test_values_are_laid_on_the_axis_along_the_dimensions_asked_for() -> None:
    values = torch.tensor([[1, 2], [3, 4]])
    assert on_axis(values, (0, None, 1), -1).tolist() == [[1, -1, 2], [3, -1, 4]]
    assert on_axis(values, (None, 0, 1), 0, dims=(-2,)).tolist() == [[0, 0], [1, 2], [3, 4]]
    assert on_axis(values, (0, None, 1), 9, dims=(-2, -1)).tolist() == [[1, 9, 2], [9, 9, 9], [3, 9, 4]]
    assert values.tolist() == [[1, 2], [3, 4]]


def test_a_head_differs_from_itself_nowhere() -> None:
    pattern, alignment = causal_pattern(5), align_positions(5, 5)
    assert pattern_divergence(pattern, pattern, alignment).values.eq(0).all()


def test_divergence_by_hand() -> None:
    a = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0.5, 0.5]])
    b = torch.tensor([[1.0, 0], [1, 0]])
    measure = pattern_divergence(a, b, align_tokens([7, 8, 9], [7, 9]))
    assert (measure.unit, measure.axes) == ("nats", ("query",))
    # 9 looks at 8 and itself in A, at 7 in B: nothing in common.
    torch.testing.assert_close(measure.values, torch.tensor([0, torch.nan, math.log(2)]), equal_nan=True)


def test_positions_that_stand_in_for_one_another_by_hand() -> None:
    """Of equal length all do; else equal tokens do, and one word for another where a gap is as long in both."""
    assert match_positions("abcd", "wxyz") == match_positions("abcd", "dcba") == ((0, 0), (1, 1), (2, 2), (3, 3))
    assert match_positions("tcs", "tsdd") == ((0, 0), (2, 1))
    assert match_positions("tcs", "tabs") == ((0, 0), (2, 3))
    assert match_positions("MajwaJg", "tMajwaMg") == tuple((place, place + 1) for place in range(7))
    assert match_positions("abc", "xyabq") == ((0, 2), (1, 3), (2, 4))
    assert match_positions("abc", "xyabq", "position") == ((0, 0), (1, 1), (2, 2))
    assert match_positions("abc", "xy") == ()


@given(TOKENS, TOKENS)
def test_matches_rise_on_both_sides_and_hold_a_longest_common_subsequence(a: list[int], b: list[int]) -> None:
    matches = match_positions(a, b)
    assert all(i < k and j < m for (i, j), (k, m) in pairwise(matches))
    if len(a) != len(b):
        assert sum(a[i] == b[j] for i, j in matches) == common_length(a, b)
