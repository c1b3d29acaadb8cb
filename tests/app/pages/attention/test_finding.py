"""The sentence over the text: what a head does at a token, for rows of which it is plain."""

import numpy as np
import pytest

from headlight.app.pages.attention.finding import sentence

LABELS = ["<|endoftext|>", "The", "␣small", "␣key", ".", "␣small"]
TOKENS = [0, 5, 7, 8, 9, 7]
HERE = "“ small”"


def row(*largest: tuple[int, float]) -> np.ndarray:
    """Weights of a row that sum to 1, of which these are given."""
    weights = np.full(6, (1 - sum(weight for _, weight in largest)) / (6 - len(largest)), np.float32)
    for key, weight in largest:
        weights[key] = weight
    return weights


@pytest.mark.parametrize(
    ("largest", "says"),
    [
        ((3, 0.854), f"L1H1 finds the earlier {HERE} and reads the token after it: “ key” (0.85)."),
        ((0, 0.9), f"L1H1 rests on the first token from {HERE} (0.90)."),
        ((2, 0.6), f"L1H1 looks from {HERE} at the earlier {HERE} (0.60)."),
        ((4, 0.6), f"L1H1 looks from {HERE} at the token before it: “.” (0.60)."),
        ((5, 0.6), f"L1H1 looks at the token itself, {HERE} (0.60)."),
        ((1, 0.6), f"L1H1 looks from {HERE} at “The”, 4 tokens back (0.60)."),
        ((1, 0.2), f"L1H1 spreads its attention from {HERE}; the most is on “The” (0.20)."),
    ],
)
def test_the_sentence_names_what_is_looked_at_most(largest: tuple[int, float], says: str) -> None:
    assert sentence("L1H1", LABELS, TOKENS, row(largest), 5) == says


def test_what_cannot_be_looked_at_is_never_the_largest() -> None:
    masked = row((1, 0.9))
    masked[2:] = np.nan
    assert sentence("L0H0", LABELS, TOKENS, masked, 1) == "L0H0 looks at the token itself, “The” (0.90)."
    bidirectional = sentence("L0H0", LABELS, TOKENS, row((5, 0.9)), 2)
    assert bidirectional == f"L0H0 looks from {HERE} at a later {HERE} (0.90)."
    assert sentence("L0H0", LABELS, TOKENS, row((3, 0.9)), 1) == "L0H0 looks from “The” at “ key”, 2 tokens on (0.90)."
