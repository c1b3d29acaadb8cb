"""Every number, head and token that a lesson says, computed again by the library on the models that ship."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from headlight.app.frame.lessons import pane
from headlight.app.frame.lessons.lesson import Lesson, Step, read_lesson
from headlight.app.frame.lessons.library import LESSONS
from headlight.app.frame.lessons.quantities import compute, is_shown_as
from headlight.app.registry import VIEWS
from headlight.app.selection import from_query

pytestmark = pytest.mark.usefixtures("unchecked")  # a batch of patches grows within a pass
REAL_MODELS = {"smollm2"}
FILES = sorted(LESSONS.rglob("*.md"))
NUMBER = re.compile(r"\d+(?:\.\d+)?\s*%|\d\.\d")  # what reads as a measurement


def _cases() -> Iterator[object]:
    for path in FILES:
        real = read_lesson(path.read_text(encoding="utf-8")).model in REAL_MODELS
        yield pytest.param(
            path, id=str(path.relative_to(LESSONS)), marks=[pytest.mark.real, pytest.mark.thorough] if real else []
        )


def _lesson(path: Path, request: pytest.FixtureRequest) -> Lesson:
    lesson = read_lesson(path.read_text(encoding="utf-8"))
    if lesson.model in REAL_MODELS:
        request.getfixturevalue("real")
    return lesson


@pytest.mark.parametrize("path", list(_cases()))
def test_what_it_says_is_what_the_model_computes(path: Path, request: pytest.FixtureRequest) -> None:
    lesson = _lesson(path, request)
    facts = 0
    for step in lesson.steps:
        chosen, view = pane.page_of(lesson, step, VIEWS)
        runs = view.kind.runs_for(chosen)
        assert view.kind.within(chosen, runs) == chosen or view.slug == "translate", step.title
        for fact in step.facts:
            value = compute(fact.quantity, runs, chosen)
            assert is_shown_as(fact.text, value), (step.title, fact.text, value)
            facts += 1
        if step.check is not None:
            assert pane.value_of(lesson, step, VIEWS) is not None
    assert facts >= len(lesson.steps)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(LESSONS)))
def test_no_measurement_stands_in_it_that_is_not_held(path: Path) -> None:
    for step in read_lesson(path.read_text(encoding="utf-8")).steps:
        loose = [text for kind, text in _spans(step) if kind != "fact" and NUMBER.search(text)]
        assert not loose, (step.title, loose)


def _spans(step: Step) -> Iterator[tuple[str, str]]:
    for paragraph in (*step.text, step.question, *step.answer):
        yield from paragraph


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(LESSONS)))
def test_its_links_are_read_whole_and_it_asks(path: Path) -> None:
    lesson = read_lesson(path.read_text(encoding="utf-8"))
    assert 10 <= lesson.minutes <= 20
    assert sum(step.check is not None for step in lesson.steps) >= 3
    kinds = [view.choices for view in VIEWS if view.choices]
    for step in lesson.steps:
        _, unread = from_query(dict(step.query), kinds)
        assert not unread, step.title
        known = {view.slug for view in VIEWS}
        assert dict(step.query).get("page", "attention") in known, step.title
