"""A Streamlit page with every component on it, and what each returns as text."""

import numpy as np
import streamlit as st

from headlight.app.components import (
    HeadGrid,
    HeadPanel,
    HeadPanels,
    TokenStrip,
    encode_positive,
    head_grid,
    heads,
    nav_bar,
    token_strip,
)
from tests.app.components.arrays import AXIS, CAPTIONS, MASKED, N_HEADS, N_LAYERS, band, head_pattern

st.set_page_config(layout="wide")
epoch = st.session_state.setdefault("epoch", 0)
if st.button("reset"):
    epoch = st.session_state["epoch"] = epoch + 1
    st.session_state["selected"] = ((3, 2),)

thumbnails = encode_positive(np.where(MASKED, np.nan, [[band(layer)] * N_HEADS for layer in range(N_LAYERS)]), 1.0)
selected = head_grid(
    HeadGrid(thumbnails, captions=CAPTIONS),
    selected=st.session_state.get("selected", ((1, 1), (2, 0))),
    epoch=epoch,
    key="grid",
    group="attention",
)
st.session_state["selected"] = selected
st.text(f"selected {selected}")
token_strip(TokenStrip(AXIS, HeadPanel(head_pattern(1, 1))), key="strip", group="attention")
panels = [HeadPanel(head_pattern(*head)) for head in selected]
pin = heads(HeadPanels(panels, AXIS), pinned=None, epoch=epoch, key="heads", group="attention")
st.text(f"pinned {pin}")


def opened(slug: str, head: tuple[int, int], _: str) -> None:
    st.session_state["opened"] = slug, head


nav_bar(
    {"": {"here": "Here", "why": "Why"}},
    "here",
    "",
    key="pages",
    turn_to=lambda slug: None,
    of_head={"why": "Why", "ablate": "Ablate"},
    open_head=opened,
)
st.text(f"opened {st.session_state.pop('opened', None)}")
