"""The common axis of two runs against a brute-force subsequence, cases by hand and sums that must agree."""

import math
from collections.abc import Sequence
from itertools import combinations, pairwise

import torch
from hypothesis import given
from hypothesis import strategies as st

from headlight.model.analysis.alignment import (
    Alignment,
    align_positions,
    align_tokens,
    match_positions,
    on_axis,
    pattern_difference,
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


def masked(pattern: torch.Tensor) -> torch.Tensor:
    """The pattern with NaN for the keys after each query."""
    return pattern.masked_fill(torch.ones(pattern.shape[-2:], dtype=torch.bool).triu(diagonal=1), torch.nan)


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


def test_difference_by_hand() -> None:
    a = torch.tensor([[1.0, torch.nan, torch.nan], [0.25, 0.75, torch.nan], [0.5, 0.25, 0.25]])
    b = torch.tensor([[1.0, torch.nan], [0.75, 0.25]])
    measure = pattern_difference(a, b, align_tokens([7, 8, 9], [7, 9]))
    assert (measure.unit, measure.axes) == ("probability", ("query", "key"))
    nan = torch.nan
    # The second place is A's alone: no row, and the weight it took from 9 in A is lost.
    expected = torch.tensor([[0, nan, nan], [nan, nan, nan], [0.25, -0.25, 0]])
    torch.testing.assert_close(measure.values, expected, equal_nan=True, atol=0, rtol=0)


@given(TOKENS.filter(len), TOKENS.filter(len))
def test_difference_has_the_rows_of_both_and_they_sum_to_zero(a: list[int], b: list[int]) -> None:
    for alignment in (align_tokens(a, b), align_positions(len(a), len(b))):
        measure = pattern_difference(masked(causal_pattern(len(a))), masked(causal_pattern(len(b), 1)), alignment)
        assert measure.axes == ("head", "query", "key")
        n = len(alignment)
        both = torch.tensor([None not in place for place in zip(alignment.a, alignment.b, strict=True)])
        causal = torch.ones(n, n, dtype=torch.bool).tril()
        assert torch.equal(measure.values.isfinite(), (both[:, None] & causal).expand(2, n, n))
        # float64 rounding of two rows of at most 8 weights.
        sums = measure.values[:, both].nansum(dim=-1)
        torch.testing.assert_close(sums, torch.zeros_like(sums), atol=1e-14, rtol=0)


def test_difference_of_b_and_a_is_minus_that_of_a_and_b() -> None:
    a, b, alignment = causal_pattern(4), causal_pattern(5, 1), align_tokens([1, 2, 3, 4], [1, 3, 5, 4, 6])
    swapped = pattern_difference(b, a, Alignment(alignment.b, alignment.a)).values
    torch.testing.assert_close(pattern_difference(a, b, alignment).values, -swapped, equal_nan=True)


def test_a_head_differs_from_itself_nowhere() -> None:
    pattern, alignment = causal_pattern(5), align_positions(5, 5)
    assert pattern_difference(pattern, pattern, alignment).values.eq(0).all()
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
    found = match_positions(a, b)
    assert all(i < k and j < m for (i, j), (k, m) in pairwise(found))
    if len(a) != len(b):
        assert sum(a[i] == b[j] for i, j in found) == common_length(a, b)
