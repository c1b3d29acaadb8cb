"""Hint above a page on what to look at in an example, or what the model is good for, until it is closed."""

import streamlit as st

from headlight.app import selection
from headlight.app.runs.prompts import Example, SourceExample

LOOK_AT = "**What to look at.**"
OPENED = "example_opened"


def remember(example: Example | SourceExample, model_before: str) -> None:
    """Remember that the user opened an example, and whether that changed the model."""
    st.session_state[OPENED] = example.name, model_before not in ("", example.model)


def is_opened(example: Example | SourceExample) -> bool:
    """Whether the example is the one that the user opened last."""
    return bool(st.session_state.get(OPENED, ("", False))[0] == example.name)


def of_example(example: Example | SourceExample, model: str) -> str:
    """What to look at in an example, and that opening it changed the model, if it did and this is still the model."""
    changed_model = is_opened(example) and st.session_state[OPENED][1] and model == example.model
    return f"{LOOK_AT} {example.look_at}{f' The example brought its model, {model}.' if changed_model else ''}"


def draw(text: str) -> None:
    """Draw the hint, unless it is empty or was closed; its text is ours and quotes no user."""
    closed = st.session_state.setdefault(selection.widget_key("hints_closed"), set())
    with st.container(horizontal=True, wrap=False, key="headlight-hint"):  # empty or not, so that nothing is made anew
        if text and text not in closed:
            st.caption(text)
            st.button(
                "Close this hint",
                icon=":material/close:",
                type="tertiary",
                key=selection.widget_key("close_hint"),
                on_click=closed.add,
                args=(text,),
            )
