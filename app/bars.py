"""What the bars above the pages have in common: a model to choose, how A and B are laid, and the line under them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar

import streamlit as st

from app import models, selection, tour
from app.components import Link, option_row
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
    """The examples, what there is to do with a B, and the tour."""
    with st.container(horizontal=True, key="headlight-line"):
        opening = [_link(each.title, each.title, partial(show, each)) for each in examples]
        option_row(opening, key=selection.widget_key("examples"), lead="Examples")
        option_row([*_links(b), tour.link()], key=selection.widget_key(f"compare{b.key}"))
    tour.draw()


def _links(b: SideB) -> Iterator[Link]:
    """One opens B and closes it again, so that the keyboard's focus stays on it."""
    if not b.opened:
        yield _link("compare", "Compare A | B", b.open, b.adds)
        return
    yield _link("compare", "Close B", b.close, "Go on with A alone.")
    yield _link("swap", "Swap A and B", b.swap)


def _link(name: str, label: str, do: Callable[[], None], help: str = "") -> Link:
    return Link(name, label, None, lambda _: do(), help)
