"""Attention analyses against torch.distributions, plain loops and cases worked out by hand."""

import math
from collections.abc import Callable

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from torch.distributions import Categorical, kl_divergence

from headlight.model.measure.attention import (
    disagreement,
    entropy,
    head_scores,
    js_divergence,
    max_pool,
    mean_distance,
    most_alike,
    row_sum_error,
    sinks,
    without_keys,
    write_norms,
)


def random_pattern(*shape: int, causal: bool = False, seed: int = 0) -> torch.Tensor:
    scores = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
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


def test_write_norms_are_what_a_query_with_all_its_weight_on_a_key_would_get() -> None:
    v, W_O = torch.randn(7, 3, 4).double(), torch.randn(3, 4, 6).double()
    measure = write_norms(v, W_O)
    assert (measure.unit, measure.axes) == ("L2 norm", ("head", "key"))
    torch.testing.assert_close(measure.values, torch.einsum("khd,hdm->hkm", v, W_O).norm(dim=-1))
    torch.testing.assert_close(measure.values[2, 5], (v[5, 2] @ W_O[2]).square().sum().sqrt())


def test_disagreement_of_a_large_weight_with_a_small_effect_by_hand() -> None:
    pattern, norms = torch.tensor([[0.75, 0.25], [0.5, 0.5]]), torch.tensor([1.0, 3.0])
    measure = disagreement(pattern, norms)
    assert (measure.unit, measure.axes) == ("share", ("query", "key"))
    # 0.75 and 0.25 * 3 write as much as each other; 0.5 and 0.5 * 3 as one to three.
    assert measure.values.tolist() == [[0.25, -0.25], [0.25, -0.25]]


def test_disagreement_rows_sum_to_zero_for_all_heads_at_once() -> None:
    pattern, norms = random_pattern(3, 6, 6, causal=True).double(), torch.rand(3, 6).double() + 0.1
    measure = disagreement(pattern, norms)
    assert measure.axes == ("head", "query", "key")
    shares = [[(row * n) / (row @ n) for row in head] for head, n in zip(pattern, norms, strict=True)]
    torch.testing.assert_close(measure.values, pattern - torch.stack([torch.stack(rows) for rows in shares]))
    # float64 rounding over 6 numbers below 1.
    torch.testing.assert_close(measure.values.sum(dim=-1), torch.zeros(3, 6).double(), atol=1e-14, rtol=0)


def test_disagreement_rows_sum_to_zero_among_what_the_first_key_left() -> None:
    rest = without_keys(torch.tensor([[0.5, 0.25, 0.25]]), [0], renormalise=False)
    values = disagreement(rest, torch.tensor([9.0, 1.0, 3.0])).values
    assert values.tolist() == [[0, 0.25 - 0.5 * 1 / 4, 0.25 - 0.5 * 3 / 4]]


def test_disagreement_is_nan_where_nothing_is_written() -> None:
    values = disagreement(torch.tensor([[1.0, 0], [0.5, 0.5]]), torch.tensor([0.0, 2])).values
    assert values[0].isnan().all()
    assert values[1].tolist() == [0.5, -0.5]


def test_without_keys_by_hand() -> None:
    pattern = torch.tensor([[1.0, 0, 0], [0.5, 0.5, 0], [0.5, 0.125, 0.375], [0, 0, 0]])
    hidden = without_keys(pattern, [0], renormalise=False)
    assert hidden.tolist() == [[0, 0, 0], [0, 0.5, 0], [0, 0.125, 0.375], [0, 0, 0]]
    rescaled = without_keys(pattern, [0], renormalise=True)
    assert rescaled[[0, 3]].isnan().all()
    assert rescaled[[1, 2]].tolist() == [[0, 1, 0], [0, 0.25, 0.75]]
    assert pattern[:, 0].tolist() == [1, 0.5, 0.5, 0]
    assert without_keys(pattern, [0, 1], renormalise=True)[2].tolist() == [0, 0, 1]


def test_without_keys_rows_are_the_softmax_over_the_other_keys() -> None:
    scores = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(2)).double()
    rest = without_keys(scores.softmax(dim=-1), [0], renormalise=True)
    torch.testing.assert_close(rest[..., 1:], scores[..., 1:].softmax(dim=-1))


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


def test_js_divergence_is_the_mean_divergence_from_the_mixture() -> None:
    a, b = (random_pattern(3, 400, 9, seed=seed) for seed in (0, 1))  # more rows than are taken at a time
    measure = js_divergence(a, b)
    assert (measure.unit, measure.axes) == ("nats", ("head", "query"))
    p, q, mixture = (Categorical(probs=rows.double()) for rows in (a, b, (a + b) / 2))
    expected = (kl_divergence(p, mixture) + kl_divergence(q, mixture)) / 2
    # float32 rounding of three entropies of up to log 9 each, 2e-7 apiece.
    torch.testing.assert_close(measure.values.double(), expected, atol=1e-6, rtol=0)


def test_js_divergence_by_hand() -> None:
    a = torch.tensor([[1.0, 0, 0], [1, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5], [0, 0, 0]])
    b = torch.tensor([[0.0, 1, 0], [0.5, 0.5, 0], [0, 0.5, 0.5], [0.2, 0.3, 0.5], [0, 0, 0]])
    half_shared = 0.5 * math.log(1 / 0.75) + 0.25 * math.log(0.5 / 0.75) + 0.25 * math.log(0.5 / 0.25)
    expected = torch.tensor([math.log(2), half_shared, 0.5 * math.log(2), 0, 0])
    torch.testing.assert_close(js_divergence(a, b).values, expected)


def test_js_divergence_of_nearly_equal_rows_is_that_of_scipy() -> None:
    torch.manual_seed(0)
    logits = torch.randn(20, 5000)
    for apart in (1e-1, 1e-2, 1e-3):
        a, b = logits.softmax(-1), (logits + apart * torch.randn_like(logits)).softmax(-1)
        expected = torch.tensor(jensenshannon(a.double().numpy(), b.double().numpy(), axis=1) ** 2)
        # Sums of 5,000 rounded terms, each of a few millionths of what it is.
        torch.testing.assert_close(js_divergence(a, b).values.double(), expected, rtol=1e-5, atol=1e-8)


def test_js_divergence_keeps_rows_of_nan() -> None:
    a, b = random_pattern(2, 5, 5), random_pattern(2, 5, 5, seed=1)
    a[0, 1], b[1, 2, 3] = torch.nan, torch.nan
    assert js_divergence(a, b).values.isnan().nonzero().tolist() == [[0, 1], [1, 2]]


@given(st.integers(0, 10**6), st.integers(1, 30))
def test_js_divergence_is_symmetric_and_within_its_bounds(seed: int, n_keys: int) -> None:
    a, b = (random_pattern(40, n_keys, n_keys, causal=True, seed=seed + i)[0] ** 4 for i in range(2))
    a, b = (rows / rows.sum(dim=-1, keepdim=True) for rows in (a, b))
    there, back = js_divergence(a, b).values, js_divergence(b, a).values
    assert torch.equal(there, back)
    assert there.min() >= 0
    assert there.max() <= math.log(2) + 1e-8  # float32's own log 2 is 1e-8 too large
    assert js_divergence(a, a).values.tolist() == [0] * n_keys


def test_most_alike_finds_a_copy_of_the_head_and_the_layer_it_is_in() -> None:
    patterns = [random_pattern(4, 6, 6, causal=True, seed=layer) for layer in range(3)]
    head = patterns[1][2].clone()
    measure = most_alike(head, (pattern for pattern in patterns))
    assert (measure.unit, measure.axes) == ("nats", ("layer", "head"))
    assert divmod(int(measure.values.argmin()), 4) == (1, 2)
    assert measure.values[1, 2] == 0
    by_query = [js_divergence(mine, other).values for mine, other in zip(head, patterns[2][3], strict=True)]
    # Six numbers of at most log 2, averaged in float32.
    torch.testing.assert_close(measure.values[2, 3], torch.stack(by_query).mean(), atol=2e-7, rtol=0)


def test_most_alike_averages_over_the_queries_that_have_weights() -> None:
    head = without_keys(pattern_to([0, 1, 1])[0], [0], renormalise=True)
    other = pattern_to([0, 1, 2])
    measure = most_alike(head, [other])
    torch.testing.assert_close(measure.values, torch.tensor([[math.log(2) / 2]]))


def test_row_sum_error_is_the_worst_row_of_all() -> None:
    pattern = random_pattern(2, 3, 4)
    # Four float32 weights below 1.
    assert 0 <= row_sum_error(pattern).values < 5e-7
    pattern[1, 2, 3] -= 0.25
    measure = row_sum_error(pattern)
    assert (measure.unit, measure.axes) == ("probability", ())
    torch.testing.assert_close(measure.values, torch.tensor(0.25))
    pattern[0, 0, 0] = torch.nan
    assert row_sum_error(pattern).values.isnan()


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


def test_a_sink_in_mid_prompt_is_told_from_a_word_that_one_head_looks_at() -> None:
    """Of 10 heads three rest on key 3 from all later queries, two look at key 5, and all rest on key 0 besides."""
    n = 12
    patterns = torch.zeros(10, n, n)
    patterns[:, :, 0] = 1.0
    for heads, key, weight in ((slice(0, 3), 3, 0.6), (slice(3, 5), 5, 0.6), (slice(5, 9), 10, 0.9)):
        patterns[heads, key + 1 :, key] = weight
        patterns[heads, key + 1 :, 0] = 1 - weight
    assert sinks(patterns, torch.arange(n)).tolist() == [3]  # only one query comes after key 10
    some = torch.tensor([0, 4, 6, 8, 9, 11])
    assert sinks(patterns[:, some], some).tolist() == [3]
