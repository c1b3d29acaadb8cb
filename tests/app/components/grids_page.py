"""A Streamlit page with the grids in every kind, and what each returns as text."""

import numpy as np
import streamlit as st

from headlight.app.components import HeadGrid, LensGrid, encode_positive, encode_signed, head_grid, lens_grid
from tests.app.components import grids

st.set_page_config(layout="wide")
mode = st.radio("show", ["weights", "changes", "sizes", "lens", "both", "deep", "many", "chat"], horizontal=True)
weights = np.broadcast_to(grids.query == grids.key, (grids.N_LAYERS, grids.N_HEADS, grids.N_CELLS, grids.N_CELLS))
selected: tuple[tuple[int, int], ...] = ((0, 1),)
common = {"selected": selected, "epoch": 0, "group": "grids"}
match mode:
    case "weights":
        codes = encode_positive(np.where(grids.MASKED, np.nan, weights), 1.0)
        st.text(f"selected {head_grid(HeadGrid(codes, grids.CAPTIONS), key='weights', **common)}")
    case "changes":
        codes = encode_signed(grids.changes(), 1.0)
        changes = HeadGrid(codes, grids.CAPTIONS, kind="signed", legend_title="B − A", legend_limit=1.0)
        st.text(f"selected {head_grid(changes, key='changes', **common)}")
    case "sizes":
        codes = encode_positive(np.where(grids.MASKED, np.nan, grids.sizes()), 12.0)
        sizes = HeadGrid(codes, grids.CAPTIONS, grids.ORDER, grids.FIGURES, legend_title="norm", legend_limit=12.0)
        st.text(f"selected {head_grid(sizes, key='sizes', **common)}")
    case "many":
        codes = encode_positive(np.zeros(grids.MANY), 1.0)
        st.text(f"selected {head_grid(HeadGrid(codes, []), key='many', **common)}")
    case _:
        b = grids.lens(1) if mode == "both" else None
        a = grids.deep_lens() if mode == "deep" else grids.lens(0)
        turns = grids.TURNS if mode == "chat" else ()
        drawn = LensGrid(a, b, labels=grids.LABELS, vocabulary=grids.VOCABULARY, colours=grids.COLOURS, turns=turns)
        st.text(f"lens {lens_grid(drawn, pinned=None, epoch=0, key=mode)}")
