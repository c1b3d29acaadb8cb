"""The sentence over the text: what a head does at a token, for rows of which it is plain."""

from dataclasses import replace

import numpy as np
import pytest

from headlight.app.pages.attention.finding import answer_start, finding, moved, sentence
from headlight.app.runs import comparisons
from headlight.app.selection import Selection
from headlight.model import Conversation
from headlight.model.attention.axis import axis_of
from headlight.model.runs.edits import AblateHeads

LABELS = ["<|endoftext|>", "The", "␣small", "␣key", ".", "␣small"]
TOKENS = [0, 5, 7, 8, 9, 7]
HERE = "“small”"
SAID = {"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}
OPEN_ENDED = Conversation(SAID, add_generation_prompt=False, continue_final_message=True)


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


def test_where_an_answer_begins_the_sentence_says_so(chat_folder: str) -> None:
    """The template's own last token, such as a line break, says nothing by itself."""
    chosen = Selection(model=chat_folder, prompt="one two", bos="chat")
    comparison = comparisons.for_selection(chosen)
    said = finding(comparison, (0, 0), axis_of(comparison, "token", "tokens"), chosen)
    assert said.startswith("“:”, where the answer begins, ")
    pinned = replace(chosen, queries=(1,))
    assert "answer" not in finding(comparison, (0, 0), axis_of(comparison, "token", "tokens"), pinned)
    for other in (replace(chosen, bos=True), replace(chosen, prompt=OPEN_ENDED.to_prompt())):
        assert answer_start(comparisons.for_selection(other).a) is None


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
    words = [["⟨bos⟩", "“John”", "“Mary”"], ["⟨bos⟩", "“Ann”", "“Mary”"]]
    assert moved("L3H2", "“to”", words, np.array([0.1, 0.7, 0.2]), np.array(b)) == f"{says} (head L3H2)."


def test_a_head_whose_weights_stay_is_said_to_be_ablated(chat_folder: str) -> None:
    chosen = Selection(model=chat_folder, prompt="one two three", edits=(AblateHeads(((0, 1),)),))
    comparison = comparisons.for_selection(chosen)
    axis = axis_of(comparison, "token", "tokens")
    assert finding(comparison, (0, 1), axis, chosen).endswith("looks alike in A and in B (head L0H1, ablated in B).")
    assert finding(comparison, (0, 0), axis, chosen).endswith("looks alike in A and in B (head L0H0).")
