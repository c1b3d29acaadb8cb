"""How tokens are drawn, and what run B writes: with each of these all is written anew."""

from typing import Any

import streamlit as st

from app import generation, selection
from app.glossary import TERMS
from app.run import Run
from app.selection.chosen import LEAST_TOP_P, MOST_NEW, MOST_TEMPERATURE
from app.shown import Shown
from app.views.sides import as_tables

LARGEST = 999_999  # that a link holds
B_WRITES = {"same": "A's tokens", "own": "its own tokens"}


def draw(shown: Shown) -> None:
    """The row of options."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="headlight-options"):
        if shown.b is not None:
            _b_writes()
        _slider("n_new", "New tokens", 1, MOST_NEW, 1)
        _slider("temperature", "Temperature", 0.0, MOST_TEMPERATURE, 0.05)
        _number("top_k", "Top-k", 1, 110, value=None, placeholder="off")
        _slider("top_p", "Top-p", LEAST_TOP_P, 1.0, 0.01)
        _number("seed", "Seed", 0, 130, step=1)
        _reroll()
        _stop(shown.a)
        as_tables()


def _b_writes() -> None:
    st.segmented_control(
        "B writes",
        list(B_WRITES),
        format_func=B_WRITES.__getitem__,
        required=True,
        help=TERMS["b_writes"],
        **_field("b_writes"),
    )


def _number(field: str, label: str, least: int, width: int, **more: Any) -> None:
    st.number_input(label, min_value=least, max_value=LARGEST, help=TERMS[field], width=width, **more, **_field(field))


def _slider(field: str, label: str, low: float, high: float, step: float) -> None:
    st.slider(label, low, high, step=step, help=TERMS[field], width=150, **_field(field))


def _reroll() -> None:
    st.button(
        "Re-roll",
        icon=":material/casino:",
        key=selection.widget_key("reroll"),
        help="The next seed: other tokens from the same distributions. At temperature 0 nothing is drawn.",
        disabled=selection.current().temperature == 0,
        on_click=lambda: selection.choose(seed=(selection.current().seed + 1) % (LARGEST + 1)),
    )


def _stop(run: Run) -> None:
    if generation.end_of_text(run.tokenizer) is not None:
        st.toggle("Stop at the text's end", help=TERMS["stop"], **_field("stop"))


def _field(field: str) -> dict[str, Any]:
    """A widget's tie to a field with which all is written anew."""
    value = getattr(selection.current(), field)
    return selection.tie(field, value, lambda chosen: selection.choose(**{field: chosen}))
