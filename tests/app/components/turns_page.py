"""A Streamlit page with the turns of a conversation in a form, and what Python has of them."""

import json

import streamlit as st

from headlight.app.components import Turns, turns
from headlight.app.components.turns import component_chat

st.set_page_config(layout="wide")
MESSAGES = [{"role": "user", "content": "one <b>two</b>"}, {"role": "assistant", "content": "three"}]
now: dict[str, Turns] = st.session_state.setdefault("now", {"chat": Turns(MESSAGES, "continue", None, may_think=True)})


def note(chat: Turns) -> None:
    """What was submitted."""
    now["chat"] = chat


with st.form("form"):
    hear = turns(now["chat"], title="Conversation", key="turns", epoch=0, change=note, other=MESSAGES)
    st.form_submit_button("Run", on_click=hear, shortcut="Mod+Enter")
st.text(json.dumps(component_chat(now["chat"])))
