"""What is said above a page, without one."""

from dataclasses import fields

from headlight.app.frame.notices import LONG_NAMES, LONGEST, in_one_line
from headlight.app.selection import Selection, from_query, too_long_for_url
from headlight.app.selection.chosen import Prompt
from headlight.app.selection.links import MAX_URL_PROMPT
from headlight.model.runs.edits import Steer

LONG = "".join(chr(0x4E00 + 7919 * number % 20_000) for number in range(MAX_URL_PROMPT))  # cannot be compressed


def test_all_that_a_link_can_leave_out_has_a_name() -> None:
    values = {each.name: LONG for each in fields(Selection) if each.type in (str, Prompt, Prompt | None)}
    selection = Selection(**values, edits=(Steer(0, LONG, "b"),), mean_over=(LONG,))
    left_out = too_long_for_url(selection)
    assert {"prompt", "prompt_b", "source", "source_b", "translation", "translation_b", "edits"} < set(left_out)
    assert from_query({"left_out": " ".join(left_out)}) == (Selection(), left_out)
    assert set(left_out) <= set(LONG_NAMES)
    assert not set(LONG_NAMES.values()) & set(left_out)


def test_a_text_is_quoted_in_one_line_in_which_all_can_be_seen() -> None:
    assert in_one_line("\n\t\n\t a") == "↵⇥↵⇥␣a"
    assert in_one_line("word " * 1000) == "word␣" * (LONGEST // 5) + "…"
    assert in_one_line("a" * LONGEST) == "a" * LONGEST
