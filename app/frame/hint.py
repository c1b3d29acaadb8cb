"""Hint above a page on what to look at in an example, or what the model is good for, until it is closed."""

import streamlit as st

from headlight.app import selection


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
