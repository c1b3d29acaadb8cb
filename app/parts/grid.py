"""The grid of all heads: whose heads it shows, and each one's picture as the browser draws it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import streamlit as st
from jaxtyping import UInt8
from streamlit.delta_generator import DeltaGenerator

from headlight.app import selection
from headlight.app.components import CellAxis, HeadGrid, Option, encode_positive, encode_signed, head_grid
from headlight.app.components.heads import Kind
from headlight.app.glossary import TERMS
from headlight.app.parts import options
from headlight.app.runs.thumbnails import Thumbnails
from headlight.model.measure.alignment import Presence
from headlight.model.measure.difference import Side
from headlight.model.runs.edits import Head

# Options of large heads, on the page and in a file.
CHOICES: Mapping[str, Mapping[str, Any]] = {
    "show": {
        "label": "Cells show",
        "options": {"weight": "Weight", "score": "Score", "write": "Value-weighted", "disagreement": "Disagreement"},
    },
    "scale": {"label": "Colour scale", "options": {"sqrt": "square root", "linear": "linear"}},
    "sink": {
        "label": "First token",
        "options": {"keep": "shown", "hide": "hidden", "renormalise": "hidden, renormalised"},
    },
}
HOW_TO_CHOOSE = "One row per layer, one thumbnail per head. Click a thumbnail to enlarge it."
HOW_TO_PIN = "Row: the query. Column: the key, a {key}. Click a cell to pin it, drag to zoom."


BROAD = 20  # more heads a layer take the larger half of the page
DEEP, FEW_LAYERS = 1.5, 12  # more layers to a head stand across, unless they are few: the grid has the page's width
MAX_THUMBNAIL = 90  # CSS pixels of a picture at most where there is a B, whose heads have three pictures each


def places(compares: bool, shape: tuple[int, int]) -> tuple[DeltaGenerator, ...]:
    """Containers of the text, the page's options, the grid and the chosen heads, which style.css lays out.

    They stand side by side, or where a model of so many layers by heads is deep, one below the other.
    """
    kind = "-deep" if is_deep(shape) else "-broad" if is_broad(shape) else "-ab" if compares else ""
    with st.container(key=f"headlight-atlas{kind}"):
        return tuple(st.container(key=f"headlight-place-{place}") for place in ("text", "options", "grid", "heads"))


def is_deep(shape: tuple[int, int]) -> bool:
    """Whether a model of so many layers by heads has its layers across."""
    n_layers, n_heads = shape
    return n_layers >= FEW_LAYERS and n_layers > DEEP * n_heads


def is_broad(shape: tuple[int, int]) -> bool:
    """Whether a model of so many layers by heads has more heads than the smaller half of the page has room for."""
    return not is_deep(shape) and shape[1] > BROAD


def chosen_title(looked_at: str) -> tuple[str, str]:
    """Title of the chosen heads, and its explanation."""
    return "Chosen heads", f"{TERMS['attention']} {HOW_TO_PIN.format(key=looked_at)}"


def side_option(compares: bool) -> Option | None:
    """Option of the side whose heads are shown, where there are A and B."""
    return options.side(compares, "Show", "difference")


def side_of(compares: bool) -> Side:
    """Side whose heads are shown."""
    return (selection.current().side or "difference") if compares else "a"


def legend(title: str, side: Side) -> str:
    """Meaning of the colours."""
    return f"B − A: {title}" if side == "difference" else title


def limits(side: Side, limit: float) -> dict[Kind, float]:
    """Ends of the grid's scale, which the large pictures of the same kind share."""
    return {"differences" if side == "difference" else "measured": limit}


def lacks(presence: Sequence[Presence]) -> str:
    """Meaning of the hatching, if there is any."""
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


def draw(
    drawn: Pictures, title: str, compares: bool, selected: tuple[Head, ...], key: str, group: str, **look: Any
) -> tuple[Head, ...]:
    """The grid, whose colours stand for `title`, in A or of the side that is chosen; returns the heads that are chosen.

    `look` is what else `HeadGrid` has.
    """
    return head_grid(
        HeadGrid(
            drawn.codes,
            largest=MAX_THUMBNAIL if compares else None,
            kind="signed" if drawn.signed else "positive",
            legend_title=legend(title, side_of(compares)),
            legend_limit=drawn.limit,
            side=side_of(compares),
            **look,
        ),
        selected=selected,
        epoch=selection.epoch(),
        key=selection.widget_key(key),
        group=group,
    )


def head_axes(shape: Sequence[int]) -> tuple[CellAxis, CellAxis]:
    """The sides of a map of all heads: its layers, and its heads."""
    layers, heads = ([f"{letter}{place}" for place in range(n)] for letter, n in zip("LH", shape, strict=True))
    return CellAxis("layer", layers), CellAxis("head", heads)


def say_none_is_chosen() -> None:
    """Placeholder for the chosen heads where there is none."""
    st.info("Click a head in the grid to see its pattern here.")
