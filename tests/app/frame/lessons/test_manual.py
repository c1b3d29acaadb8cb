"""What the manual says of lessons."""

import textwrap

from headlight.app.frame.lessons import pane
from headlight.app.frame.lessons.lesson import read_lesson
from headlight.app.frame.lessons.library import LESSONS
from headlight.app.frame.lessons.quantities import QUANTITIES, compute, is_shown_as
from headlight.app.registry import VIEWS
from tests.places import ROOT

MANUAL = (ROOT / "docs" / "how-to" / "lessons.md").read_text(encoding="utf-8")


def test_its_example_is_a_lesson_and_true() -> None:
    begin = MANUAL.index("    ---\n")
    example = textwrap.dedent(MANUAL[begin : MANUAL.index("- `Link:`")])
    lesson = read_lesson(example)
    (step,) = lesson.steps
    chosen, view = pane.page_of(lesson, step, VIEWS)
    runs = view.kind.runs_for(chosen)
    assert all(is_shown_as(fact.text, compute(fact.quantity, runs, chosen)) for fact in step.facts)


def test_it_names_every_quantity_and_every_lesson() -> None:
    for name, rule in QUANTITIES.items():
        assert f"| `{f'{name} {rule.example}'.strip()}` | {rule.meaning} |" in MANUAL
    for path in LESSONS.glob("*.md"):
        lesson = read_lesson(path.read_text(encoding="utf-8"))
        assert f"| {lesson.title} | {lesson.minutes} | {lesson.model}" in MANUAL
