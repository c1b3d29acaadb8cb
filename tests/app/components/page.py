"""A Streamlit page with every component on it, and what each returns as text."""

import numpy as np
import streamlit as st

from app.components import encode_thumbnails, head_grid, heads, lens_grid, token_strip
from tests.app.components.arrays import CAPTIONS, LABELS, MASKED, N_HEADS, N_LAYERS, band, lens, shown

st.set_page_config(layout="wide")
epoch = st.session_state.setdefault("epoch", 0)
if st.button("reset"):
    epoch = st.session_state["epoch"] = epoch + 1
    st.session_state["selected"] = ((3, 2),)

thumbnails = encode_thumbnails(np.stack([[band(layer)] * N_HEADS for layer in range(N_LAYERS)]), MASKED)
selected = head_grid(
    thumbnails,
    selected=st.session_state.get("selected", ((1, 1), (2, 0))),
    epoch=epoch,
    key="grid",
    group="attention",
    captions=CAPTIONS,
)
st.session_state["selected"] = selected
st.text(f"selected {selected}")
token_strip(LABELS, shown(1, 1), key="strip", group="attention")
patterns = [shown(*head) for head in selected]
st.text(f"pinned {heads(patterns, LABELS, LABELS, pinned=None, epoch=epoch, key='heads', group='attention')}")
st.text(f"lens {lens_grid(lens(), pinned=None, epoch=epoch, key='lens')}")
