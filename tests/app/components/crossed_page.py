"""A Streamlit page with the strip and the heads of two sequences, or a beam tree; the URL says which and how."""

from typing import Any

import streamlit as st

from headlight.app.components import HeadPanels, TokenStrip, beam_tree, heads, token_strip
from tests.app.components import crossed

st.set_page_config(layout="wide")
query = st.query_params
options: dict[str, Any] = {name: query[name] for name in ("show", "sink", "scale") if name in query}
if "tree" in query:
    n_steps, n_beams = map(int, query["tree"].split(",")) if query["tree"] else (0, 0)
    nodes = crossed.search(n_steps, n_beams) if n_steps else crossed.NODES
    epoch = st.session_state.setdefault("epoch", 0)
    if st.button("best"):
        epoch = st.session_state["epoch"] = epoch + 1
    best = len(nodes) - 2 * n_beams if n_steps else crossed.BEST
    st.text(f"chosen {beam_tree(nodes, selected=best, epoch=epoch, key='tree')}")
else:
    panels = [crossed.panel(head) for head in range(int(query.get("heads", 2)))]
    look: dict[str, Any] = {"columns": crossed.COLUMNS, **options}
    times = int(query.get("times", 1))
    texts = crossed.long_texts(times) if times > 1 else TokenStrip(crossed.ROWS, panels[0], **look)
    token_strip(texts, key="strip", group="cross")
    large = HeadPanels(panels, crossed.ROWS, own_scale="own" in query, **look)
    pin = heads(large, pinned=None, epoch=0, key="heads", group="cross")
    st.text(f"pinned {pin}")
