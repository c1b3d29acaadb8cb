"""The grid of all heads: whose heads it shows, and each one's picture as the browser draws it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt8

from app import selection
from app.components import Choice, Option, encode_positive, encode_signed
from app.components.heads import Kind
from app.fields import Thumbnails
from app.selection.chosen import Side
from app.views import options
from app.views.cell_tables import SIDES
from model.analysis.alignment import Presence

HOW_TO_CHOOSE = "One picture a head, one row a layer. Choose those to see large."
HOW_TO_PIN = "Row: the token that looks. Column: the {key} looked at. Choose a cell to pin it, drag to zoom."


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


class Pictures(NamedTuple):
    """Every head's picture as codes, signed or not, and the limit of their colours."""

    codes: UInt8[np.ndarray, "layer head h w"]
    limit: float
    signed: bool


def pictures(pooled: Thumbnails) -> Pictures:
    """The heads' cells as the browser draws them."""
    encode = encode_signed if pooled.signed else encode_positive
    return Pictures(encode(pooled.values, pooled.limit), pooled.limit, pooled.signed)
