"""The pane beside the pages: the list of lessons, a lesson at a step, or a new one that is being written."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from headlight.app import selection
from headlight.app.components import lesson_pane
from headlight.app.frame import progress
from headlight.app.frame.lessons import library, writing
from headlight.app.frame.lessons.lesson import Lesson, Step, read_lesson
from headlight.app.frame.lessons.library import Shelved
from headlight.app.frame.lessons.quantities import Value, compute, is_right, written
from headlight.app.frame.lessons.state import LESSON, STEP, LessonState, open_lesson, show, state, wanted
from headlight.app.frame.view import PROMPTED, View
from headlight.app.runs import prompts, trusted
from headlight.app.selection import Selection
from headlight.app.server.settings import settings
from headlight.model.base.errors import HeadlightError, InputError


def arrive(views: Sequence[View]) -> None:
    """Open the lesson that the address names, at its own page where the address names no other."""
    now = state()
    if now.has_arrived and not selection.moved_in_history():
        return
    now.has_arrived = True
    if (named := wanted()) is None:
        now.shows = "" if now.shows == "lesson" else now.shows  # gone back to before it
        return
    open_lesson(*named)
    if now.shows == "lesson" and set(st.query_params) <= {LESSON, STEP}:
        _go(views)


@st.fragment
def draw(views: Sequence[View]) -> None:
    """Draw the pane, as a fragment: an answer redraws it alone, a step needs the page."""
    now = state()
    with st.container(key="headlight-lesson-check"):  # empty or not, so that the pane below it is not made anew
        verdict = _verdict(now, views)
    lesson_pane(_props(now, verdict), key=selection.widget_key("lesson"), hear=lambda event: _hear(event, views))
    if selection.pending() is not None or now.take_rerun():
        st.rerun()


def _hear(event: Any, views: Sequence[View]) -> None:
    """What was clicked in the pane: its name, and what belongs to it."""
    if selection.forgotten() or not isinstance(event, list) or not event:
        return
    action, now = event[0], state()
    now.error = ""
    match action, *event[1:-1]:
        case ("close",):
            now.shows, now.needs_rerun = "", True
        case ("list",):
            now.shows, now.needs_rerun = "list", True
        case "open", str(name), int(step):
            open_lesson(name, step)
            _go(views)
        case "step", int(step) if now.shelved is not None:
            show(now.shelved, step)
            _go(views)
        case "check", str(answer):
            now.answered, now.n_answers = (now.step, answer[:200]), now.n_answers + 1
        case "file", str(text):
            _open_text(text, views)
        case "write", str(draft):
            now.shows, now.draft = "write", now.draft or draft[: writing.MAX_CHARACTERS]
        case "draft", str(draft):
            now.draft = draft[: writing.MAX_CHARACTERS]
        case "add", *fields if len(fields) == len(writing.FIELDS) and all(isinstance(each, str) for each in fields):
            _add(dict(zip(writing.FIELDS, fields, strict=True)))
        case ("try",):
            _open_text(now.draft, views)


def _open_text(text: str, views: Sequence[View]) -> None:
    now = state()
    try:
        shelved = Shelved(library.in_link(text), read_lesson(text))
    except InputError as error:
        now.error = str(error)
        return
    show(shelved, 0)
    _go(views)


def _add(fields: dict[str, str]) -> None:
    now = state()
    try:
        now.draft = writing.with_step(now.draft, selection.current(), selection.page(), fields)
    except InputError as error:
        now.error = str(error)


def _go(views: Sequence[View]) -> None:
    """Show the page of the step, and ask before it opens what this server does not offer."""
    now = state()
    if now.shows != "lesson" or now.shelved is None:
        return
    step = now.shelved.lesson.steps[now.step]
    if step.query:
        if unread := _unread(step, views):
            now.error = (
                f"This step's link names what there is not ({', '.join(unread)}): the page shows the rest of it."
            )
        chosen, view = page_of(now.shelved.lesson, step, views)
        unasked = trusted.unasked(chosen)
        selection.ask_linked(chosen, replace(unasked, model=unasked.model or settings().model), view.slug)
    else:
        now.needs_rerun = True


def _unread(step: Step, views: Sequence[View]) -> tuple[str, ...]:
    """The names in the step's link whose values cannot be read."""
    query, slugs = dict(step.query), {slug for view in views for slug in (view.slug, *view.formerly)}
    page = () if query.get("page", views[0].slug) in slugs else ("page",)
    return page + selection.from_query(query, [view.choices for view in views if view.choices])[1]


def page_of(lesson: Lesson, step: Step, views: Sequence[View]) -> tuple[Selection, View]:
    """The selection and the page of a step; where it has none, the lesson's model on its first prompt."""
    query = dict(step.query)
    chosen, _ = selection.from_query(query, [view.choices for view in views if view.choices])
    slug = query.get("page", views[0].slug)
    view = next((view for view in views if slug in (view.slug, *view.formerly)), views[0])
    if view.kind is PROMPTED:
        chosen = replace(chosen, model=chosen.model or lesson.model)
    else:
        chosen = replace(chosen, model=chosen.model or settings().model, translator=chosen.translator or lesson.model)
    return (chosen if "prompt" in query else replace(chosen, prompt=prompts.first_prompt(chosen.model))), view


def value_of(lesson: Lesson, step: Step, views: Sequence[View]) -> Value:
    """What the model computes where the step asks.

    Raises:
        HeadlightError: it cannot be computed; the message says why.
    """
    assert step.check is not None  # or else there is nothing to ask
    chosen, view = page_of(lesson, step, views)
    if trusted.to_ask(chosen):
        raise InputError("Open this step's page first, and agree to what it opens.")
    return compute(step.check.quantity, view.kind.runs_for(chosen), chosen)


def _verdict(now: LessonState, views: Sequence[View]) -> dict[str, Any] | None:
    if now.answered is None or now.shelved is None or now.answered[0] != now.step:
        return None
    lesson, (at, answer) = now.shelved.lesson, now.answered
    step = lesson.steps[at]
    check = step.check
    if check is None:
        return None
    try:
        with progress.of_steps("The model computes…", _no_answer, key="lesson"):
            value = value_of(lesson, step, views)
        right = is_right(answer, value, check.tolerance)
    except HeadlightError as error:
        return {"step": at, "answer": answer, "right": None, "text": str(error)}
    shown = next((fact.text for fact in step.facts if fact.quantity == check.quantity), "")
    return {"step": at, "answer": answer, "right": right, "text": f"The model says {written(value, answer, shown)}."}


def _no_answer() -> None:
    """Leave the question as it was before its answer was checked."""
    state().answered = None


def _props(now: LessonState, verdict: Mapping[str, Any] | None) -> dict[str, Any]:
    shelved = now.shelved if now.shows == "lesson" else None
    return {
        "shows": now.shows,
        "shelf": [_entry(each) for each in library.shipped()] if now.shows == "list" else [],
        "lesson": None if shelved is None else _lesson(shelved),
        "step": now.step,
        "verdict": verdict,
        "answers": now.n_answers,  # else the pane would not hear that the same answer has been checked again
        "error": now.error,
        "draft": now.draft if now.shows == "write" else "",
        "share": library.in_link(now.draft) if now.shows == "write" and now.draft else "",
        "offered": writing.offered(selection.current(), selection.page()) if now.shows == "write" else [],
    }


def _entry(shelved: Shelved) -> dict[str, Any]:
    lesson = shelved.lesson
    steps, checks = len(lesson.steps), sum(step.check is not None for step in lesson.steps)
    about = {"about": lesson.about, "model": lesson.model, "steps": steps, "checks": checks}
    return {"name": shelved.name, "title": lesson.title, "minutes": lesson.minutes, **about}


def _lesson(shelved: Shelved) -> dict[str, Any]:
    steps = [
        {
            "title": step.title,
            "text": step.text,
            "question": step.question,
            "asks": step.check.quantity.kind if step.check else "",
            "answer": step.answer,
            "hasPage": bool(step.query),
            "part": step.part,
        }
        for step in shelved.lesson.steps
    ]
    return {**_entry(shelved), "steps": steps}
