"""The sentence of where a token looks in a head, for rows of which it is plain."""

import numpy as np
import pytest

from headlight.app.parts.looking import moved, sentence

LABELS = ["<|endoftext|>", "The", "␣small", "␣key", ".", "␣small"]
TOKENS = [0, 5, 7, 8, 9, 7]
HERE = "“small”"


def row(*largest: tuple[int, float]) -> np.ndarray:
    """Weights of a row that sum to 1, of which these are given."""
    weights = np.full(6, (1 - sum(weight for _, weight in largest)) / (6 - len(largest)), np.float32)
    for key, weight in largest:
        weights[key] = weight
    return weights


@pytest.mark.parametrize(
    ("largest", "says"),
    [
        ((3, 0.854), f"looks at “key”, which came after the earlier {HERE} (head L1H1, 0.85)"),
        ((0, 0.9), "rests on the first token (head L1H1, 0.90)"),
        ((2, 0.6), f"looks at the earlier {HERE} (head L1H1, 0.60)"),
        ((4, 0.6), "looks at the token before it, “.” (head L1H1, 0.60)"),
        ((5, 0.6), "looks at itself (head L1H1, 0.60)"),
        ((1, 0.6), "looks at “The”, 4 tokens back (head L1H1, 0.60)"),
        ((1, 0.2), "spreads its attention over about 6 tokens, the largest weight on “The” (head L1H1, 0.20)"),
    ],
)
def test_the_sentence_names_what_is_looked_at_most(largest: tuple[int, float], says: str) -> None:
    assert sentence("L1H1", LABELS, TOKENS, row(largest), 5) == f"{HERE} {says}."


def test_what_cannot_be_looked_at_is_never_the_largest() -> None:
    masked = row((1, 0.9))
    masked[2:] = np.nan
    assert sentence("L0H0", LABELS, TOKENS, masked, 1) == "“The” looks at itself (head L0H0, 0.90)."
    bidirectional = sentence("L0H0", LABELS, TOKENS, row((5, 0.9)), 2)
    assert bidirectional == f"{HERE} looks at a later {HERE} (head L0H0, 0.90)."
    assert sentence("L0H0", LABELS, TOKENS, row((3, 0.9)), 1) == "“The” looks at “key”, 2 tokens on (head L0H0, 0.90)."


@pytest.mark.parametrize(
    ("b", "says"),
    [
        ([0.1, 0.0, 0.9], "In B “to” looks less at “John” (0.70 → 0.00) and more at “Mary” (0.20 → 0.90) than in A"),
        ([0.1, 0.9, 0.0], "In B “to” looks less at “Mary” (0.20 → 0.00) and more at “Ann” (0.70 → 0.90) than in A"),
        ([0.1, 0.7, 0.204], "“to” looks alike in A and in B"),
        ([0.1, 0.4, 0.2], "In B “to” looks less at “John” (0.70 → 0.40) than in A"),  # the rest is on a sink
    ],
)
def test_of_two_runs_the_sentence_says_what_the_token_looks_at_less_and_more(b: list[float], says: str) -> None:
    a = np.array([0.1, 0.7, 0.2], np.float32)
    sides = [(["⟨bos⟩", "␣John", "␣Mary"], a), (["⟨bos⟩", "␣Ann", "␣Mary"], np.array(b, np.float32))]
    assert moved("L3H2", "“to”", sides, [range(3), range(3)]) == f"{says} (head L3H2)."


def test_a_token_that_one_run_lacks_has_no_weight_in_it() -> None:
    row = np.array([0.1, 0.9], np.float32)
    sides = [(["⟨bos⟩", "␣John"], row), (["⟨bos⟩", "␣Ann"], row)]
    said = moved("L3H2", "“to”", sides, [(0, 1, None), (0, None, 1)])
    assert said == "In B “to” looks less at “John” (0.90 → 0.00) and more at “Ann” (0.00 → 0.90) than in A (head L3H2)."
