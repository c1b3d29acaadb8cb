"""The first visitor's tour, in five steps."""

import streamlit as st

from headlight.app import selection
from headlight.app.components import Link, Step, tour

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


def draw() -> None:
    """Draw the tour, which begins by itself at a first visit unless that is by a link to a result."""
    requests = st.session_state.get(_asked(), 0)
    tour(STEPS, key=selection.widget_key("tour"), requests=requests, begins=not selection.by_link())


def link() -> Link:
    """Button that starts the tour again."""
    return Link("tour", "Tour", None, lambda _: _ask(), "What is where, in five steps")


def _ask() -> None:
    st.session_state[_asked()] = st.session_state.get(_asked(), 0) + 1


def _asked() -> str:
    return selection.widget_key("tour.asked")
