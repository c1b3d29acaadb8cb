"""The session's lesson: which one is open, at which step, and the draft of one that is being written."""

from dataclasses import dataclass
from typing import Literal

import streamlit as st

from headlight.app import selection
from headlight.app.components import Link
from headlight.app.frame.lessons import library
from headlight.app.frame.lessons.library import Shelved
from headlight.model.base.errors import InputError

LESSON, STEP = "lesson", "step"  # the address's parameters
Shows = Literal["", "list", "lesson", "write"]


@dataclass
class LessonState:
    """What the pane shows: nothing, the list, a lesson at a step, or the form of a new one; and what was answered."""

    shows: Shows = ""
    shelved: Shelved | None = None
    step: int = 0
    answered: tuple[int, str] | None = None
    n_answers: int = 0
    error: str = ""
    draft: str = ""
    has_arrived: bool = False
    needs_rerun: bool = False

    def take_rerun(self) -> bool:
        """Whether the page has to be drawn again, once."""
        needed, self.needs_rerun = self.needs_rerun, False
        return needed


def state() -> LessonState:
    """The session's own."""
    key = selection.widget_key("lessons")
    if key not in st.session_state:
        st.session_state[key] = LessonState()
    return st.session_state[key]


def link() -> Link:
    """Button that opens and closes the list of lessons."""
    return Link(
        "lessons", "Lessons", None, lambda _: _turn(), "Ten to twenty minutes each, with questions and answers."
    )


def _turn() -> None:
    now = state()
    now.shows = "" if now.shows else "lesson" if now.shelved else "list"


def open_lesson(name: str, step: int) -> None:
    """Open a lesson by its name at a step, or say why it cannot be opened."""
    try:
        show(library.open_lesson(name), step)
    except InputError as error:
        now = state()
        now.shows, now.error = "list", str(error)


def follow(name: str) -> None:
    """Open a lesson with the next run of the page, as its link does."""
    state().has_arrived = False
    st.query_params.from_dict({LESSON: name})


def show(shelved: Shelved, step: int) -> None:
    """Show a lesson at a step, or at its first."""
    now = state()
    now.shows, now.shelved, now.error, now.answered = "lesson", shelved, "", None
    now.step = step if 0 <= step < len(shelved.lesson.steps) else 0


def in_address() -> dict[str, str]:
    """The lesson's entries in the address."""
    now = state()
    if now.shows != "lesson" or now.shelved is None or not now.shelved.name:
        return {}
    return {LESSON: now.shelved.name, STEP: str(now.step + 1)}


def wanted() -> tuple[str, int] | None:
    """The lesson and step that the address names."""
    name, step = st.query_params.get(LESSON, ""), st.query_params.get(STEP, "1")
    return (name, int(step) - 1 if step.isascii() and step.isdigit() and len(step) < 4 else 0) if name else None
