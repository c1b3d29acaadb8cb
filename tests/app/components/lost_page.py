"""A Streamlit page whose first messages lack the component's script, and that does not hear the first time it does."""

import streamlit as st

from headlight.app.components.heading import _render
from headlight.app.components.shared.mount import digest, mount

st.session_state.n_runs = st.session_state.get("n_runs", 0) + 1
if st.session_state.n_runs < int(st.query_params["sent_at"]):
    st.session_state["lost.held"] = {digest(_render.script)}
mount(_render, key="lost", group="lost", props={"text": "There", "help": "", "caption": ""}, arrays={})
st.text(f"run {st.session_state.n_runs}")
