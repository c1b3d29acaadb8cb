"""A Streamlit page with the token strip and the heads; the URL says how they show what."""

from typing import Any

import numpy as np
import streamlit as st

from headlight.app.components import (
    HeadPanel,
    HeadPanels,
    HeadPattern,
    TokenAxis,
    TokenStrip,
    encode_weights,
    heads,
    token_strip,
)
from tests.app.components import compared

st.set_page_config(layout="wide")
query = st.query_params
more, size = st.checkbox("One head more"), int(query.get("size", 0))
count = int(query.get("heads", 2)) + more
options: dict[str, Any] = {name: query[name] for name in ("show", "sink", "scale") if name in query}


def long_panel(head: int) -> HeadPanel:
    """Weight that falls with distance, over a prompt of any length; head number h looks h tokens back as well."""
    place = np.arange(size)
    distance = place[:, None] - place
    raw = np.where(distance >= 0, np.exp(-distance / 8.0) + 2.0 * (distance == head), 0.0)
    weights = encode_weights(raw / raw.sum(-1, keepdims=True), distance < 0)
    return HeadPanel(HeadPattern(0, head, weights, np.zeros(size, np.float32), np.ones(size, np.float32)))


if size:
    axis = TokenAxis([f"·t{place}" for place in range(size)], ["both"] * size)
    panels = [long_panel(head) for head in range(count)]
else:
    axis = compared.AXIS
    panels = [compared.panel(head, compare="b" in query) for head in range(count)]
    if "pair" in query:
        panels = [HeadPanel(compared.pattern("a", 0), compared.pattern("a", 1))]
shown = TokenStrip(axis, panels[-1 if more else 0], **options)
if "earlier" in query:  # as where the strip has not heard yet of the text that the heads have
    shown = TokenStrip(compared.AXIS, compared.panel(0, compare=False), **options)
token_strip(shown, key="strip", group="heads")
large = HeadPanels(panels, axis, own_scale="own" in query, **options)
pin = heads(large, pinned=None, epoch=0, key="heads", group="heads")
st.text(f"pinned {pin}")
