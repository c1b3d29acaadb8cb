"""What the bars above the pages have in common: a model to choose, how A and B are laid, and the line under them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import streamlit as st

from app import models, selection, tour
from app.glossary import TERMS
from app.prompts import Example, SourceExample
from app.selection.chosen import Align

ALIGN: dict[Align, str] = {"tokens": "same tokens", "position": "same position"}

AnyExample = TypeVar("AnyExample", Example, SourceExample)


@dataclass(frozen=True)
class SideB:
    """How the B of a bar is opened with what `adds` says, closed, and swapped with A; `key` ends its buttons' keys."""

    opened: bool
    adds: str
    open: Callable[[], None]
    close: Callable[[], None]
    swap: Callable[[], None]
    key: str = ""


def model_list(field: str, label: str, offered: Sequence[str], help: str, **look: Any) -> None:
    """The models on offer and the one that is chosen; any other can be typed, where that is allowed."""
    key = selection.widget_key(field)
    st.selectbox(
        label,
        dict.fromkeys((*offered, st.session_state[key])),
        key=key,
        accept_new_options=models.any_model_allowed(),
        help=help,
        width=280,
        **look,
    )


def alignment(field: Literal["align", "pair_align"]) -> None:
    """How A and B are laid side by side."""
    st.radio(
        "Lay side by side",
        list(ALIGN),
        format_func=ALIGN.__getitem__,
        key=selection.widget_key(field),
        horizontal=True,
        label_visibility="collapsed",
        help=TERMS["align"],
    )


def hint(*fields: str) -> None:
    """What to do with a B that was opened, while what stands in its boxes is still the same as in A's."""
    held, key = st.session_state, selection.widget_key
    if all(held[key(field)] == held[key(f"{field}_b")] for field in fields):
        st.caption("Change B and press Run.", width="content")


def line_under(examples: Iterable[AnyExample], show: Callable[[AnyExample], None], b: SideB) -> None:
    """The examples, the buttons for a B, and the tour."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="headlight-examples"):
        st.caption("Examples", width="content")
        for example in examples:
            key = selection.widget_key(f"example.{example.title}")
            st.button(example.title, key=key, type="tertiary", on_click=show, args=(example,))
        st.space("stretch")
        _buttons(b)
        tour.draw()


def _buttons(b: SideB) -> None:
    """One button opens B and closes it again, so that the keyboard's focus stays on it."""
    st.button(
        "Close B" if b.opened else "Compare A | B",
        key=selection.widget_key(f"compare{b.key}"),
        type="tertiary",
        icon=":material/close:" if b.opened else ":material/compare:",
        on_click=b.close if b.opened else b.open,
        help="Go on with A alone." if b.opened else b.adds,
    )
    if b.opened:
        st.button("Swap A and B", key=selection.widget_key(f"swap{b.key}"), type="tertiary", on_click=b.swap)
