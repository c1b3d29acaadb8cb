"""Head scores against patterns whose scores are known by construction."""

import pytest
import torch

from headlight.model.roles.head_scores import induction_score, next_token_loss, previous_token_score, repeat_accuracy

HALF = 5


def attention_to(offset: int) -> torch.Tensor:
    """A pattern [1, 1, query, key]: each query puts probability 1 on the key `offset` before it, or else on key 0."""
    pattern = torch.zeros(1, 1, 2 * HALF, 2 * HALF)
    for query in range(2 * HALF):
        pattern[0, 0, query, max(query - offset, 0)] = 1
    return pattern


def test_a_perfect_induction_head_scores_one_and_its_neighbours_zero() -> None:
    # The token after the earlier copy of query q is at q - (HALF - 1).
    assert induction_score(attention_to(HALF - 1)).item() == 1
    assert induction_score(attention_to(HALF)).item() == 0
    assert induction_score(attention_to(HALF - 2)).item() == 0


def test_a_perfect_previous_token_head_scores_one() -> None:
    assert previous_token_score(attention_to(1)).item() == 1
    assert previous_token_score(attention_to(2)).item() == pytest.approx(1 / 9)  # of the 9 queries, query 1 alone


def test_scores_are_means_over_batch_and_queries_for_each_head() -> None:
    patterns = torch.cat(
        [torch.cat([attention_to(1), attention_to(4)], 1), torch.cat([attention_to(3), attention_to(4)], 1)]
    )
    assert induction_score(patterns).tolist() == [0, 1]
    assert previous_token_score(patterns)[0].item() == pytest.approx((1 + 1 / 9) / 2)


def test_uniform_attention_scores_its_own_weight() -> None:
    weights = torch.ones(2 * HALF, 2 * HALF).tril()
    pattern = (weights / weights.sum(-1, keepdim=True))[None, None]
    expected = sum(1 / (query + 1) for query in range(HALF, 2 * HALF)) / HALF
    torch.testing.assert_close(induction_score(pattern).item(), expected)


def test_accuracy_counts_the_second_half_from_its_second_token_on() -> None:
    tokens = torch.tensor([[3, 1, 2, 3, 1, 2]])
    logits = torch.zeros(1, 6, 4)
    logits[0, 3, 1] = 1  # right: after the second 3 comes 1
    logits[0, 4, 0] = 1  # wrong: after the second 1 comes 2
    logits[0, 2, 3] = 1  # right, but the first token of the copy does not count
    assert repeat_accuracy(logits, tokens).tolist() == [0.5]


def test_loss_is_that_of_the_tokens_that_have_one_before_them() -> None:
    tokens = torch.tensor([[3, 1, 2]])
    probabilities = torch.full((1, 3, 4), 0.25)
    probabilities[0, 0] = torch.tensor([0.1, 0.6, 0.2, 0.1])  # after 3 comes 1
    probabilities[0, 1] = torch.tensor([0.1, 0.1, 0.3, 0.5])  # after 1 comes 2
    loss = next_token_loss(probabilities.log() + 5, tokens)  # logits, which any constant may be added to
    torch.testing.assert_close(loss, -torch.tensor([0.6, 0.3]).log().mean()[None])
