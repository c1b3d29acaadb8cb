"""The grid of all heads: whose heads it shows, and each one's picture as the browser draws it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import streamlit as st
from jaxtyping import UInt8
from streamlit.delta_generator import DeltaGenerator

from headlight.app import selection
from headlight.app.components import Choice, Option, encode_positive, encode_signed
from headlight.app.components.heads import Kind
from headlight.app.glossary import TERMS
from headlight.app.parts import options
from headlight.app.parts.sides import SIDES
from headlight.app.runs.thumbnails import Thumbnails
from headlight.model.analysis.alignment import Presence
from headlight.model.analysis.difference import Side

HOW_TO_CHOOSE = "One row per layer, one thumbnail per head. Click a thumbnail to enlarge it."
HOW_TO_PIN = "Row: the query. Column: the key, a {key}. Click a cell to pin it, drag to zoom."


def places(compares: bool) -> tuple[DeltaGenerator, DeltaGenerator, DeltaGenerator]:
    """Where the grid, the strip of tokens and the chosen heads stand, which style.css lays side by side."""
    with st.container(key=f"headlight-atlas{'-ab' if compares else ''}"):
        return st.container(), st.container(), st.container()


def chosen_title(looked_at: str) -> tuple[str, str]:
    """The title of the chosen heads, and what explains them."""
    return "Chosen heads", f"{TERMS['attention']} {HOW_TO_PIN.format(key=looked_at)}"


def side_options(compares: bool) -> tuple[Option, ...]:
    """Where there are A and B, whose heads it shows."""
    return (options.bind(Choice, "side", "Grid shows", "difference", options=SIDES),) if compares else ()


def side_of(compares: bool) -> Side:
    """Whose heads it shows."""
    return (selection.current().side or "difference") if compares else "a"


def legend(title: str, side: Side) -> str:
    """What the colours stand for."""
    return f"B − A: {title}" if side == "difference" else title


def limits(side: Side, limit: float) -> dict[Kind, float]:
    """How far the grid's scale goes, for the scale that the large pictures of the same kind have."""
    return {"differences" if side == "difference" else "measured": limit}


def lacks(presence: Sequence[Presence]) -> str:
    """What is hatched, where there is something."""
    return "masked or absent" if {"a", "b"} & set(presence) else "masked"


def largest(compares: bool) -> int | None:
    """CSS pixels of a picture at most: with a B the chosen heads stand below."""
    return 90 if compares else None


class Pictures(NamedTuple):
    """Every head's picture as codes, signed or not, and the limit of their colours."""

    codes: UInt8[np.ndarray, "layer head h w"]
    limit: float
    signed: bool


def pictures(pooled: Thumbnails) -> Pictures:
    """The heads' cells as the browser draws them."""
    encode = encode_signed if pooled.signed else encode_positive
    return Pictures(encode(pooled.values, pooled.limit), pooled.limit, pooled.signed)
