"""What encoder-decoders wrote, where their heads looked while writing, and the trees of beams it was found in."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app import selection
from app.glossary import TERMS
from app.selection.chosen import Attends, Rows
from app.translations import Translations
from app.views.translated import beams, heads, text

ATTENDS: dict[Attends, str] = {
    "cross": "target → source (cross)",
    "decoder": "target → target",
    "encoder": "source → source",
}
ROWS: dict[Rows, str] = {"written": "token it writes", "read": "token it reads"}
SCALES = {"sqrt": "√", "linear": "linear"}


def render(found: Translations) -> None:
    """The targets, the two strips, the grid of all heads, the chosen ones, and the beams' trees."""
    text.draw(found)
    _options()
    _say_what_is_common(found)
    if selection.current().table:
        heads.as_tables(found)
    else:
        heads.pictures(found)
    beams.draw(found)


def _say_what_is_common(found: Translations) -> None:
    """One line for the heads that only one of two models has."""
    attends = selection.current().attends
    counts = {side: each.attention[attends].pattern.shape[:2] for side, each in found.sides.items()}
    if len(set(counts.values())) > 1:
        said = " and ".join(f"{side} {layers} layers of {n_heads} heads" for side, (layers, n_heads) in counts.items())
        st.caption(f"Here {said}: the heads that both have are shown.")


def _options() -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", key="headlight-options"):
        _choice("attends", "Attention", ATTENDS)
        if selection.current().attends == "cross":
            _choice("rows", "A row is called by the", ROWS)
        _choice("scale", "Colour scale", SCALES)
        st.toggle("Own scale each", help=TERMS["own_scale"], **selection.bind("own_scale"))
        st.toggle("As tables", help=TERMS["table"], **selection.bind("table"))


def _choice(name: str, label: str, options: Mapping[Any, str]) -> None:
    st.segmented_control(
        label,
        list(options),
        format_func=options.__getitem__,
        required=True,
        wrap=True,
        help=TERMS[name],
        **selection.bind(name),
    )
