"""Batches bucketed by length: nothing is lost, little is padding, and an epoch depends on its number alone."""

import numpy as np
import pytest
import torch

from headlight.model.training.buckets import Bucketed, bucketed_batches, drawn_lengths, padding, random_batches
from headlight.model.training.pairs import Pair, pad_pairs


def pairs(count: int) -> list[Pair]:
    rng = np.random.default_rng(0)
    return [([2] * source, [3] * target) for source, target in drawn_lengths(count, rng)]


def test_padding_is_counted_a_sentence() -> None:
    lengths = [(3, 5), (1, 5), (4, 2)]
    # Together: sources 1 + 3 short of 4, targets 3 short of 5, over six sentences; the last alone: none.
    assert padding(lengths, [[0, 1, 2]]) == pytest.approx((1 + 3 + 3) / 6)
    assert padding(lengths, [[0, 1], [2]]) == pytest.approx(2 / 6)


@pytest.mark.parametrize("count", [1, 7, 64, 1000])
def test_an_epoch_has_every_pair_once(count: int) -> None:
    data = Bucketed(pairs(count), [], batch_size=8, seed=0)
    for epoch in (0, 3):
        steps = range(epoch * data.n_batches, (epoch + 1) * data.n_batches)
        batches = [data.indices(step) for step in steps]
        assert sorted(index for batch in batches for index in batch) == list(range(count))
        assert max(map(len, batches)) <= 8


def test_epochs_differ_and_a_step_s_batch_is_the_same_whatever_came_before() -> None:
    data, other = (Bucketed(pairs(1000), [], batch_size=8, seed=0) for _ in range(2))
    epochs = [{tuple(data.indices(epoch * data.n_batches + nth)) for nth in range(data.n_batches)} for epoch in (0, 1)]
    assert not epochs[0] & epochs[1]
    assert other.indices(200) == data.indices(200)
    other_seed = Bucketed(pairs(1000), [], batch_size=8, seed=1)
    assert other_seed.indices(200) != data.indices(200)
    assert len({data.identity, other_seed.identity, Bucketed(pairs(999), [], batch_size=8, seed=0).identity}) == 3
    assert other.identity == data.identity


def test_bucketing_brings_the_padding_of_captions_from_about_fifteen_to_under_four() -> None:
    rng = np.random.default_rng(0)
    lengths = drawn_lengths(29_000, rng)
    assert np.mean(lengths, axis=0) == pytest.approx([13, 13], abs=0.1)  # rounding and chance
    assert np.std(lengths, axis=0) == pytest.approx([4.1, 4.1], abs=0.1)
    assert 13 < padding(lengths, random_batches(29_000, 128, rng)) < 17
    assert padding(lengths, bucketed_batches(lengths, 128, rng)) < 4


def test_pairs_are_padded_on_the_right_and_targets_begin_with_the_start_token() -> None:
    batch = pad_pairs([([5, 6, 1], [7, 1]), ([8, 1], [9, 9, 9, 1])])
    assert batch.source.tolist() == [[5, 6, 1], [8, 1, 0]]
    assert batch.source_mask.tolist() == [[1, 1, 1], [1, 1, 0]]
    assert batch.target.tolist() == [[0, 7, 1, 0, 0], [0, 9, 9, 9, 1]]
    assert batch.target_mask.tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]
    assert (batch.n_tokens, batch.n_positions) == (13, 16)
    assert batch.to(torch.device("meta")).target.is_meta
