"""Tokens in running text."""

import pytest

from headlight.app.parts.labels import isolated, nats, percent, quoted, quoted_word


@pytest.mark.parametrize("label", ["ت", "␣م", "5 ␣שלום", "۱ ا", "١"])
def test_a_token_that_runs_to_the_left_turns_nothing_around_it(label: str) -> None:
    """Unicode's bidirectional algorithm (UAX #9) takes a number after such a letter into its run, unless an isolate
    ends before.
    """
    assert isolated(label) == f"\N{LEFT-TO-RIGHT ISOLATE}{label}\N{POP DIRECTIONAL ISOLATE}"
    assert quoted(label) == f"“{isolated(label)}”"


@pytest.mark.parametrize("label", ["", "5 ␣is", "é", "<0xD9>", "नम", "7"])
def test_any_other_token_stands_as_it_is(label: str) -> None:
    assert isolated(label) == label
    assert quoted(label) == f"“{label}”"


@pytest.mark.parametrize(
    ("label", "place", "said"),
    [("<|endoftext|>", 0, "⟨bos⟩"), ("<|endoftext|>", 3, "⟨eos⟩"), ("[MASK]", 1, "⟨mask⟩"), ("<div>", 0, "“<div>”")],
)
def test_a_special_token_stands_without_quotation_marks(label: str, place: int, said: str) -> None:
    assert quoted(label, place) == quoted_word(label, place) == said


@pytest.mark.parametrize(("label", "word"), [("␣key", "“key”"), ("ick", "“ick”"), ("␣␣", "“␣␣”"), ("␣a␣b", "“a b”")])
def test_a_word_in_a_sentence_stands_without_its_space(label: str, word: str) -> None:
    assert quoted_word(label) == word


@pytest.mark.parametrize(
    ("share", "decimals", "text"),
    [(0.994, 0, "99%"), (0.004, 0, "<1%"), (0.9937, 2, "99.37%"), (0.00004, 2, "<0.01%"), (0.0001, 2, "0.01%")],
)
def test_a_small_share_does_not_read_as_zero(share: float, decimals: int, text: str) -> None:
    assert percent(share, decimals) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.974e-06, "< 0.001"),
        (0.0, "0"),
        (-2e-5, "> −0.001"),
        (0.0367, "0.0367"),
        (1.0371, "1.04"),
        (-0.5, "−0.5"),
    ],
)
def test_a_divergence_has_three_digits_and_no_row_of_zeros(value: float, text: str) -> None:
    assert nats(value) == text
