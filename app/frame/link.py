"""Question whether to open a link's sources that this server does not offer."""

import streamlit as st

from headlight.app import selection
from headlight.app.runs import trusted
from headlight.app.selection import Selection

ASKS = "This link refers to files that this server does not list. Open it only if you trust its author:"


def draw() -> None:
    """Describe what a link would open and from where, with a button for it and one for the page without it."""
    if (withheld := selection.withheld()) is None:
        return
    with st.container(key="headlight-link", border=True):
        st.text(ASKS)
        for each in trusted.to_ask(withheld):
            st.text(f"the {each.kind} {each.name}, {each.origin}")
        with st.container(horizontal=True):
            st.button("Open", type="primary", key=selection.widget_key("link_open"), on_click=_open, args=(withheld,))
            st.button("Ignore it", key=selection.widget_key("link_leave"), on_click=selection.leave_withheld)


def _open(withheld: Selection) -> None:
    trusted.trust(withheld)
    selection.ask_withheld()
