"""Repeats: every target is foretold by an earlier copy, and nothing else is a target."""

from itertools import pairwise

import numpy as np

from headlight.model.roles.sequences import repeated_halves
from headlight.recipes.repeats import draw_repeats

SYMBOLS = np.arange(100, 4000)  # so many that chance repeats are rare


def test_the_token_before_a_target_stood_before_the_same_token_earlier() -> None:
    batch = draw_repeats(20, 64, SYMBOLS, np.random.default_rng(0))
    assert batch.targets.any()
    for tokens, targets in zip(batch.tokens.tolist(), batch.targets.tolist(), strict=True):
        pairs = list(pairwise(tokens))
        for pos in np.flatnonzero(targets):
            assert pairs[pos - 1] in pairs[: pos - 1]


def test_a_good_share_of_tokens_are_targets_and_a_good_share_are_not() -> None:
    # Segments of 4 to 24 tokens and gaps of 0 to 8 leave about half of 64 positions as targets.
    share = draw_repeats(200, 64, SYMBOLS, np.random.default_rng(1)).targets.float().mean().item()
    assert 0.35 < share < 0.75


def test_only_the_given_symbols_are_used_and_the_seed_decides() -> None:
    first, again = (draw_repeats(8, 32, SYMBOLS[:32], np.random.default_rng(2)) for _ in range(2))
    assert set(first.tokens.flatten().tolist()) <= set(SYMBOLS[:32].tolist())
    assert first.tokens.equal(again.tokens)
    assert first.targets.equal(again.targets)


def test_halves_are_equal_and_no_token_stands_twice_in_one() -> None:
    tokens = repeated_halves(16, 25, SYMBOLS[:32], np.random.default_rng(3))
    assert tokens.shape == (16, 50)
    assert tokens[:, :25].equal(tokens[:, 25:])
    assert all(len(set(row[:25])) == 25 for row in tokens.tolist())
