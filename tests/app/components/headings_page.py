"""A Streamlit page with a heading that is explained and one that is not."""

import streamlit as st

from headlight.app.components import heading

renamed = st.toggle("another text")
heading("Another" if renamed else "<b>First</b>", "What it <i>is</i>.", key="first")
heading("Plain", caption="" if renamed else "A <i>line</i> under it.", key="plain")
