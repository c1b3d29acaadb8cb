"""The first visitor's tour, in five steps."""

import streamlit as st

from headlight.app import selection
from headlight.app.components import Link, Step, tour

STEPS = (
    Step(
        "headlight-prompt",
        "Ask the model anything",
        "Type a text and press Run, or begin with one of the examples. Nothing you type leaves this machine's server.",
    ),
    Step(
        "headlight-grid",
        "Every head at a glance",
        "One picture for each attention head. Each row is a token, each column a token it may look at. Choose a head "
        "to see it large.",
    ),
    Step(
        "headlight-heads",
        "Exact numbers",
        "Point at a cell for its weight and score, choose it to pin it in all heads, drag over cells to zoom in.",
    ),
    Step(
        "headlight-strip",
        "Read it on the text",
        "Point at a token to see where the first chosen head looks from there. Turn it around to see who looks at it.",
    ),
    Step(
        "headlight-compare",
        "Change one thing",
        "Put a second prompt or model beside the first: every page, also those above, then shows A, B and the "
        "difference.",
    ),
)


def draw() -> None:
    """The tour, which begins by itself at a first visit that is not to what somebody else wants to show."""
    requests = st.session_state.get(_asked(), 0)
    tour(STEPS, key=selection.widget_key("tour"), requests=requests, begins=not selection.by_link())


def link() -> Link:
    """What begins it again."""
    return Link("tour", "Tour", None, lambda _: _ask(), "What is where, in five steps")


def _ask() -> None:
    st.session_state[_asked()] = st.session_state.get(_asked(), 0) + 1


def _asked() -> str:
    return selection.widget_key("tour.asked")
