"""The first visitor's tour: attention in 45 seconds on the live picture, and what else is here in five steps."""

from typing import Any

import streamlit as st

from headlight.app import selection
from headlight.app.components import Link, Step, tour
from headlight.app.frame import first_minute
from headlight.app.frame.lessons import state as lessons
from headlight.app.runs import prompts
from headlight.app.selection import Selection
from headlight.app.server.settings import settings

PAGE = "attention"
STEPS = (
    Step(
        "headlight-prompt",
        "Ask the model anything",
        "Enter a text and press Run, or start with an example. Nothing you type leaves this machine's server.",
    ),
    Step(
        "headlight-grid",
        "Every head at a glance",
        "One picture for each attention head. Each row is a token, each column a token it may look at. Click a head "
        "to enlarge it.",
    ),
    Step(
        "headlight-heads",
        "Exact numbers",
        "Point at a cell for its weight and score, click to pin it in all heads, drag over cells to zoom in.",
    ),
    Step(
        "headlight-strip",
        "Read it on the text",
        "Point at a token to see where the first chosen head attends from there. Switch to “to the token” to see "
        "which tokens attend to it.",
    ),
    Step(
        "headlight-compare",
        "Change one thing",
        "Add a second prompt or model: every page then shows A, B and the difference.",
    ),
)


@st.fragment
def draw() -> None:
    """Draw the tour, which begins by itself at a first visit unless that is by a link to a result.

    What it tells of the run is computed when the browser asks for it: only it knows whether the visit is the first.
    """
    requests = st.session_state.get(_key("asked"), 0)
    if selection.by_link() and not requests:  # its script is a twelfth of what a linked page loads
        return
    seen = selection.active() if _is_wanted() and selection.pending() is None else None
    minute = None if seen is None else first_minute.read(seen)
    tour(
        STEPS,
        key=selection.widget_key("tour"),
        requests=requests,
        begins=not selection.by_link() and not lessons.state().shows,
        minute=minute,
        is_ready=seen is not None,
        hear=_hear,
    )
    if st.session_state.pop(_key("turns"), False):
        st.rerun()


def link() -> Link:
    """Button that starts the tour again."""
    return Link(
        "tour", "Tour", None, lambda _: _ask(), "Attention in 45 seconds, on the first prompt; and what else is here"
    )


def _ask() -> None:
    """Begin again, on the first prompt."""
    if selection.forgotten():
        return
    model = settings().model
    first = Selection(model=model, prompt=prompts.first_prompt(model))
    if selection.current() != first or selection.page() != PAGE:
        selection.ask(first, PAGE)
    st.session_state[_key("wanted")] = False  # until the browser asks: what was told is of another run
    st.session_state[_key("asked")] = st.session_state.get(_key("asked"), 0) + 1


def _hear(said: Any) -> None:
    """That the browser begins, or which example or lesson was chosen in it."""
    if selection.forgotten() or not isinstance(said, list) or not said:
        return
    st.session_state[_key("wanted")] = said[0] == "begin"
    example = next((each for each in prompts.examples() if said[0] == "example" and each.name == said[1]), None)
    if said[0] == "lesson":
        lessons.follow(str(said[1]))
        st.session_state[_key("turns")] = True
    if example is not None:
        selection.ask(Selection(model=example.model, prompt=example.prompt, prompt_b=example.prompt_b), example.view)
        st.session_state[_key("turns")] = True


def _is_wanted() -> bool:
    return bool(st.session_state.get(_key("wanted")))


def _key(name: str) -> str:
    return selection.widget_key(f"tour.{name}")
