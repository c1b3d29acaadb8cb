"""What a first visitor is told, in five steps."""

import streamlit as st

from app import selection
from app.components import Step, tour

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
    """The tour, and the button that begins it again."""
    asked = selection.widget_key("tour.asked")
    if st.button("Tour", key=selection.widget_key("tour.begin"), type="tertiary", help="What is where, in five steps"):
        st.session_state[asked] = st.session_state.get(asked, 0) + 1
    tour(STEPS, key=selection.widget_key("tour"), asked=st.session_state.get(asked, 0))
