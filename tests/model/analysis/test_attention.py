"""Attention analyses against torch.distributions, plain loops and cases worked out by hand."""

import math
from collections.abc import Callable

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.distributions import Categorical

from model.analysis.attention import entropy, head_scores, max_pool, mean_distance, rollout, value_weighted


def random_pattern(*shape: int, causal: bool = False) -> torch.Tensor:
    scores = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    if causal:
        scores = scores.masked_fill(torch.ones(shape[-2:], dtype=torch.bool).triu(diagonal=1), -torch.inf)
    return scores.softmax(dim=-1)


def pattern_to(keys: list[int]) -> torch.Tensor:
    """One head whose query i attends to keys[i] alone."""
    return torch.eye(len(keys))[keys][None]


def test_entropy_is_that_of_a_categorical_distribution() -> None:
    pattern = random_pattern(3, 17, 17, causal=True)
    measure = entropy(pattern)
    assert (measure.unit, measure.axes) == ("nats", ("head", "query"))
    # Categorical lifts zero probabilities to float32's epsilon, 1.2e-7, for its logarithm.
    torch.testing.assert_close(measure.values, Categorical(probs=pattern).entropy(), atol=2e-6, rtol=0)


def test_entropy_of_one_key_of_all_keys_and_of_none() -> None:
    pattern = torch.stack([torch.tensor([1.0, 0, 0, 0]), torch.full((4,), 0.25), torch.zeros(4)])[None]
    expected = torch.tensor([[0, math.log(4), 0]])
    torch.testing.assert_close(entropy(pattern).values, expected)


def test_mean_distance_counts_tokens_to_both_sides() -> None:
    pattern = torch.tensor([[[0, 0, 1.0, 0], [0.5, 0, 0.5, 0], [0, 0, 1, 0], [0.75, 0, 0.25, 0]]])
    measure = mean_distance(pattern)
    assert (measure.unit, measure.axes) == ("tokens", ("head", "query"))
    torch.testing.assert_close(measure.values, torch.tensor([[2.0, 1, 0, 0.75 * 3 + 0.25 * 1]]))


def test_value_weighted_is_the_norm_of_what_each_key_writes() -> None:
    pattern = random_pattern(3, 5, 7).double()
    v, W_O = torch.randn(7, 3, 4).double(), torch.randn(3, 4, 6).double()
    written = torch.einsum("hqk,khd,hdm->hqkm", pattern, v, W_O)
    measure = value_weighted(pattern, v, W_O)
    assert (measure.unit, measure.axes) == ("L2 norm", ("head", "query", "key"))
    torch.testing.assert_close(measure.values, written.norm(dim=-1))


def test_value_weighted_stays_a_norm_when_an_edit_made_a_weight_negative() -> None:
    v, W_O = torch.tensor([[[1.0]]]), torch.tensor([[[3.0, 4.0]]])
    assert value_weighted(torch.tensor([[[-2.0]]]), v, W_O).values.item() == 10


def test_rollout_of_two_layers_by_hand() -> None:
    first = torch.stack([pattern_to([0, 0, 2])[0], pattern_to([0, 1, 2])[0]])  # query 1 looks at 0 by half
    second = pattern_to([0, 1, 1])
    measure = rollout(pattern for pattern in (first, second))
    assert (measure.unit, measure.axes) == ("probability", ("layer", "query", "key"))
    after_first = [[1, 0, 0], [0.25, 0.75, 0], [0, 0, 1]]
    # Query 2 then keeps half of itself and takes half of what query 1 had become.
    after_second = [[1, 0, 0], [0.25, 0.75, 0], [0.125, 0.375, 0.5]]
    assert measure.values.tolist() == [after_first, after_second]


def test_rollout_rows_sum_to_one_and_a_masked_query_keeps_to_itself() -> None:
    patterns = [random_pattern(2, 6, 6, causal=True) for _ in range(3)]
    for pattern in patterns:
        pattern[:, 0] = 0
    flow = rollout(patterns).values
    # A sum of 6 float32 products, three times over.
    torch.testing.assert_close(flow.sum(dim=-1), torch.ones(3, 6), atol=1e-6, rtol=0)
    assert flow[:, 0].tolist() == [[1, 0, 0, 0, 0, 0]] * 3


@given(queries=st.integers(1, 40), keys=st.integers(1, 40), size=st.integers(1, 20))
def test_max_pool_takes_the_exact_maximum_of_equal_bins(queries: int, keys: int, size: int) -> None:
    pattern = random_pattern(2, 3, queries, keys)
    thumbnail = max_pool(pattern, size)
    assert thumbnail.shape == (2, 3, min(size, queries), min(size, keys))
    row_bins, column_bins = (np.array_split(np.arange(n), min(size, n)) for n in (queries, keys))
    for i, rows in enumerate(row_bins):
        for j, columns in enumerate(column_bins):
            cells = pattern[..., rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
            assert torch.equal(thumbnail[..., i, j], cells.amax(dim=(-2, -1)))


def test_max_pool_keeps_a_diagonal_one_token_wide() -> None:
    thumbnail = max_pool(torch.eye(1000), 64)
    assert torch.equal(thumbnail.diagonal(), torch.ones(64))
    # A pixel off the diagonal can touch it only at a corner, so nearly all of the picture stays dark.
    assert thumbnail.mean() < 3 / 64


def test_max_pool_does_not_enlarge() -> None:
    pattern = random_pattern(2, 5, 5)
    assert torch.equal(max_pool(pattern, 64), pattern)


def test_head_scores_of_heads_that_do_one_thing() -> None:
    tokens = torch.tensor([7, 8, 9, 7, 8, 9])
    heads = {
        "previous_token": [0, 0, 1, 2, 3, 4],
        "first_token": [0, 0, 0, 0, 0, 0],
        "current_token": [0, 1, 2, 3, 4, 5],
        "duplicate_token": [0, 0, 0, 0, 1, 2],
        "induction": [0, 0, 0, 1, 2, 3],
    }
    scores = head_scores(torch.cat([pattern_to(keys) for keys in heads.values()]), tokens)
    for head, name in enumerate(heads):
        measure = getattr(scores, name)
        assert (measure.unit, measure.axes) == ("probability", ("head",))
        assert measure.values[head] == 1
    # Of the three repeats only the first has its copy at the prompt's start.
    torch.testing.assert_close(scores.duplicate_token.values, torch.tensor([0, 1 / 3, 0, 1, 0]))


def test_head_scores_are_nan_where_the_prompt_has_no_such_key() -> None:
    scores = head_scores(pattern_to([0, 0, 1]), torch.tensor([4, 5, 6]))
    assert scores.duplicate_token.values.isnan().all()
    assert scores.induction.values.isnan().all()
    assert scores.previous_token.values.tolist() == [1]
    assert head_scores(pattern_to([0]), torch.tensor([4])).previous_token.values.isnan().all()


def test_a_token_repeated_at_once_is_a_duplicate_but_no_induction() -> None:
    scores = head_scores(pattern_to([0, 1]), torch.tensor([4, 4]))
    assert scores.duplicate_token.values.tolist() == [0]
    assert scores.induction.values.isnan().all()


@given(st.lists(st.integers(0, 3), min_size=2, max_size=12))
def test_head_scores_agree_with_loops_over_the_definitions(ids: list[int]) -> None:
    pattern = random_pattern(2, len(ids), len(ids), causal=True).double()
    is_key: dict[str, Callable[[int, int], bool]] = {
        "previous_token": lambda q, k: k == q - 1,
        "first_token": lambda q, k: k == 0,
        "current_token": lambda q, k: k == q,
        "duplicate_token": lambda q, k: k < q and ids[k] == ids[q],
        "induction": lambda q, k: 0 < k < q and ids[k - 1] == ids[q],
    }
    scores = head_scores(pattern, torch.tensor(ids))
    for name, holds in is_key.items():
        rows = [[k for k in range(len(ids)) if holds(q, k)] for q in range(1, len(ids))]
        weights = [pattern[:, q, keys].sum(dim=-1) for q, keys in enumerate(rows, start=1) if keys]
        expected = torch.stack(weights).mean(dim=0) if weights else torch.full((2,), torch.nan).double()
        torch.testing.assert_close(getattr(scores, name).values, expected, equal_nan=True)
