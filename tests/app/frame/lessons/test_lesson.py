"""Reading a lesson: what is in it, and what a file from a stranger may not hold."""

import pytest

from headlight.app.frame.lessons.lesson import MAX_CHARACTERS, MAX_STEPS, Check, read_lesson
from headlight.app.frame.lessons.quantities import Quantity
from headlight.model.base.errors import InputError

HEAD = "---\ntitle: Copying\nminutes: 12\nmodel: mini\n---\n"
STEP = """
## Look back

Link: ?page=attention&prompt=one+two&heads=1.1&lesson=other

Some **bold** and *plain* words, `code`, and {96% = probability " key"}.
They go on here.

- a point

Question: How likely is it?

Check: probability " key" in B ± 2%

Answer: About {0.1% = probability " key" in B}.

A second paragraph.
"""


def test_a_lesson_has_steps_with_a_page_a_text_and_a_question() -> None:
    lesson = read_lesson(HEAD + STEP)
    assert (lesson.title, lesson.minutes, lesson.model) == ("Copying", 12, "mini")
    (step,) = lesson.steps
    assert step.title == "Look back"
    assert dict(step.query) == {"page": "attention", "prompt": "one two", "heads": "1.1"}  # and no other lesson
    first, point = step.text
    words = [("strong", "bold"), ("em", "plain"), ("code", "code"), ("fact", "96%")]
    assert [span for span in first if span[0]] == words
    assert first[-1] == ("", ". They go on here.")
    assert point == (("", "- a point"),)
    assert step.check == Check(Quantity("probability", (" key",), "B"), 0.02)
    assert [fact.text for fact in step.facts] == ["96%", "0.1%"]
    assert len(step.answer) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Line 1: a lesson begins with a line of ---"),
        ("---\ntitle: x\nminutes: 12\n---\n", "Line 4: the lesson's model are not given"),
        ("---\ntitle: x\nminutes: soon\nmodel: mini\n---\n", "Line 3: minutes is a whole number from 1 to 180"),
        ("---\nauthor: x\n---\n", "Line 2: write title:"),
        (HEAD, "The lesson has no step"),
        (HEAD + "text", "Line 6 stands before the first step"),
        (HEAD + "## a\n<script>alert(1)</script>", "Line 7 has HTML"),
        (HEAD + "## a\n<img src=x onerror=y>", "Line 7 has HTML"),
        (HEAD + "## a\n![x](y)", "Line 7 has a picture or a link"),
        (HEAD + "## a\n[x] (y)", "Line 7 has a picture or a link"),
        (HEAD + "## a\nSee https://example.org", "Line 7 has an address"),
        (HEAD + "## a\n- b\n  - c", "Line 8 has a nested or numbered list"),
        (HEAD + "## a\n\n1. b", "Line 8 has a nested or numbered list"),
        (HEAD + "## a\n| b | c |", "Line 7 has a table, a quotation or a block of code"),
        (HEAD + "## a\nSee WWW.example.org", "Line 7 has an address"),
        (HEAD + "## a\nLink: ?x=javascript:alert(1)", "Line 7 has an address"),
        (HEAD + "## a\n\u202eabc", r"Line 7 has a control character \(U\+202E\)"),
        (HEAD + "## a\nLink: /etc/passwd", "Line 7: a link is"),
        (HEAD + "## a\nLink: ?page", "Line 7: this link cannot be read"),
        (HEAD + "## a\nLink: ?a=1\nLink: ?a=2", "Line 8: this step has Link: already"),
        (HEAD + "## a\n# b", "Line 7: a heading is ##"),
        (HEAD + "## a\nAnswer: 3", "Line 6: this step has an answer or a check and no question"),
        (HEAD + "## a\nQuestion: b\n\nmore", "Line 9 stands between question and answer"),
        (HEAD + "## a\nQuestion: b\nCheck: chance x", "Line 8: There is no quantity 'chance'"),
        (HEAD + "## a\nQuestion: b\nCheck: weight L1H1 a b ± 1", "Line 8: weight is written like this"),
        (HEAD + "## a\nQuestion: b\nCheck: prediction ± 1", "Line 8: a number is checked with ±"),
        (HEAD + '## a\nQuestion: b\nCheck: probability "a"', "Line 8: a number is checked with ±"),
        (HEAD + '## a\nQuestion: b\nCheck: probability "a" ± lots', "Line 8: ± takes a number"),
        (HEAD + "## a\n{1 = weight}", "Line 7: weight is written like this"),
        (HEAD + f"## {'a' * 200}", "Line 6: a step's title"),
        (HEAD + "## a\n" * (MAX_STEPS + 1), "The lesson has 41 steps"),
        ("a" * (MAX_CHARACTERS + 1), "The lesson has 60,001 characters"),
    ],
)
def test_what_is_no_lesson_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_lesson(text)


def test_a_special_token_and_a_comparison_are_no_html() -> None:
    assert read_lesson(HEAD + "## a\nAfter <|endoftext|> the weight is < 1 and > 0.").steps[0].text
