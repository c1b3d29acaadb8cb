"""What the bars above the pages have in common: a model to choose, how A and B are laid, and the line under them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import models, selection, tour
from app.components import Choice, Link, Listed, Number, Option, Suggested, Switch, form_row, option_row
from app.glossary import TERMS
from app.prompts import Example, SourceExample
from app.selection.chosen import Align

ALIGN: dict[Align, str] = {"tokens": "same tokens", "position": "same position"}

MODEL_WIDTH = 280  # CSS pixels

AnyExample = TypeVar("AnyExample", Example, SourceExample)
Kind = TypeVar("Kind", Choice, Listed, Number, Suggested, Switch)


@dataclass(frozen=True)
class SideB:
    """How the B of a bar is opened with what `adds` says, closed, and swapped with A; `key` ends its buttons' keys."""

    opened: bool
    adds: str
    open: Callable[[], None]
    close: Callable[[], None]
    swap: Callable[[], None]
    key: str = ""


def row(name: str, *options: Option) -> Callable[[], None]:
    """Options of a bar, which hear when it is run, or when what is returned is called."""
    return form_row(options, key=selection.widget_key(name), epoch=selection.asks())


def line() -> DeltaGenerator:
    """Where the last options of a bar stand, with its button at the end."""
    return st.container(horizontal=True, vertical_alignment="center", key="headlight-bar")


def run_button(submit: Callable[[], None], *rows: Callable[[], None]) -> None:
    """The button that submits a bar, once its rows have heard what was chosen in them."""

    def hear() -> None:
        for row in rows:
            row()

    def run() -> None:
        hear()
        submit()

    if selection.forgotten():  # the rows could not be read when the button was pressed, before they were drawn again
        hear()
    st.form_submit_button("Run", type="primary", on_click=run, shortcut="Mod+Enter")


def option(kind: type[Kind], field: str, label: str, **look: Any) -> Kind:
    """An option that holds what stands in the bar for a field of the selection, whether it was run or not."""
    key = selection.widget_key(field)

    def stand(value: Any) -> None:
        st.session_state[key] = value

    return kind(field, label, st.session_state[key], stand, **look)


def model_list(field: str, label: str, offered: Sequence[str], help: str) -> Suggested | Listed:
    """The models on offer and the one that is chosen; any other can be typed, where that is allowed."""
    if models.any_model_allowed():
        return option(
            Suggested, field, label, help=help, offered=offered, placeholder="Choose or type a model", width=MODEL_WIDTH
        )
    names = (*offered, st.session_state[selection.widget_key(field)])
    return option(Listed, field, label, help=help, options={name: name for name in names}, width=MODEL_WIDTH)


def alignment(field: Literal["align", "pair_align"]) -> Choice:
    """How A and B are laid side by side."""
    return option(Choice, field, "Lay side by side", help=TERMS["align"], options=ALIGN)


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
