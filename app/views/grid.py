"""The grid of all heads: whose heads it shows, and each one's picture as the browser draws it."""

from collections.abc import Sequence

import numpy as np
import streamlit as st
from jaxtyping import UInt8

from app import selection
from app.components import encode_positive, encode_signed
from app.components.heads import Kind
from app.fields import Thumbnails
from app.selection.chosen import Side
from app.views.cell_tables import SIDES
from model.analysis.alignment import Presence

HOW_TO_CHOOSE = "One picture a head, one row a layer. Choose those to see large."


def side_of(compares: bool) -> Side:
    """Whose heads it shows: where there are A and B, those to be chosen."""
    if not compares:
        return "a"
    st.segmented_control(
        "Grid shows",
        list(SIDES),
        format_func=SIDES.__getitem__,
        required=True,
        label_visibility="collapsed",
        **selection.bind("side", default="difference"),
    )
    return selection.current().side or "difference"


def legend(title: str, side: Side) -> str:
    """What the colours stand for."""
    return f"B − A: {title}" if side == "difference" else title


def limits(side: Side, limit: float) -> dict[Kind, float]:
    """How far the grid's scale goes, for the scale that the large pictures of the same kind have."""
    return {"differences" if side == "difference" else "measured": limit}


def lacks(presence: Sequence[Presence]) -> str:
    """What is hatched, where there is something."""
    return "masked or absent" if {"a", "b"} & set(presence) else "masked"


def pictures(pooled: Thumbnails) -> UInt8[np.ndarray, "layer head h w"]:
    """Every head's picture as codes, signed or not."""
    if pooled.signed:
        return encode_signed(pooled.values, pooled.limit)
    return encode_positive(np.nan_to_num(pooled.values), pooled.limit, np.isnan(pooled.values))
