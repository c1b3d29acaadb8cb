"""The sentence over the text: from which token it is, and in which run."""

from dataclasses import replace

from headlight.app.pages.attention.finding import answer_start, finding
from headlight.app.runs import comparisons
from headlight.app.selection import Selection
from headlight.model import Conversation
from headlight.model.attention.axis import axis_of
from headlight.model.runs.edits import AblateHeads

SAID = {"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}
OPEN_ENDED = Conversation(SAID, add_generation_prompt=False, continue_final_message=True)


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


def test_a_head_whose_weights_stay_is_said_to_be_ablated(chat_folder: str) -> None:
    chosen = Selection(model=chat_folder, prompt="one two three", edits=(AblateHeads(((0, 1),)),))
    comparison = comparisons.for_selection(chosen)
    axis = axis_of(comparison, "token", "tokens")
    assert finding(comparison, (0, 1), axis, chosen).endswith("looks alike in A and in B (head L0H1, ablated in B).")
    assert finding(comparison, (0, 0), axis, chosen).endswith("looks alike in A and in B (head L0H0).")
