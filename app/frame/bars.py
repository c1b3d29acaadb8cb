"""The bar above a page, of one line or of one for A and one for B, and the row of menus under it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.app import selection
from headlight.app.components import Choice, Link, Listed, Number, Option, Suggested, Switch, form_row, option_row
from headlight.app.frame import tour
from headlight.app.frame.lessons import state as lessons
from headlight.app.glossary import TERMS
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading, preview
from headlight.app.runs import models, models_folder
from headlight.app.runs.prompts import Example, SourceExample
from headlight.app.selection import BarFields, Selection
from headlight.app.selection.bars import BARS, in_b
from headlight.model.measure.alignment import Align

ALIGN: dict[Align, str] = {"tokens": "token", "position": "position"}

MODEL_WIDTH = 190  # CSS pixels
MAX_LEFT_OUT = 3  # lines above the page of what is not in its list of models

AnyExample = TypeVar("AnyExample", Example, SourceExample)
Kind = TypeVar("Kind", Choice, Listed, Number, Suggested, Switch)


@dataclass(frozen=True)
class Bar:
    """Prompt bar with its `fields`: texts and a model on each side, and once `own` settings and the alignment.

    `texts` and `model` are drawn for a side's name (` A`, ` B` or nothing) and for the end of its fields' names (`_b`
    or nothing); the texts return what has them hear what was typed. `adds` says what B is good for.
    """

    fields: BarFields
    adds: str
    texts: Callable[[str, str], Callable[[], None]]
    model: Callable[[str, str], Option]
    own: Callable[[], Option]
    run: Callable[[], None]


def draw(bar: Bar) -> None:
    """Draw the bar, and accept input that was submitted while it was hidden."""
    selection.fill_bars()
    with st.form("headlight.bar", border=False), st.container(key="headlight-bar"):
        rows: list[Callable[[], None]] = []
        opened = selection.comparing(bar.fields)
        for side in "AB" if opened else [""]:
            name, field = f" {side}".rstrip(), "_b" if side == "B" else ""
            with st.container(horizontal=True, vertical_alignment="top", key=f"headlight-line{side}"):
                rows.append(bar.texts(name, field))
                other = _alignment(bar.fields.align) if side == "A" else bar.own()
                key, text = f"chosen{bar.fields.key}{side}", f"{bar.fields.text}{field}"
                rows.append(_row(key, text, bar.model(name, field), other))
                if side != "A":
                    _run_button(bar.run, rows)
        if opened:
            _hint(bar.fields.of_a)
    _left_out()
    selection.submit_late()


def _left_out() -> None:
    """Entries of the models folder that the list of models leaves out, and why, a line each; empty if none."""
    listing = models_folder.listing()
    lines = [f"Not in the list of models: {name}. {reason}" for name, reason in listing.unreadable.items()]
    more = [f"{len(lines) - MAX_LEFT_OUT} more are not in the list of models."] if len(lines) > MAX_LEFT_OUT else []
    if remarks := [*filter(None, [listing.gone]), *lines[:MAX_LEFT_OUT], *more]:
        with st.container(key="headlight-left-out", gap=None):
            for line in remarks:
                st.text(" ".join(line.split()))


def text(name: str, label: str, placeholder: str) -> Callable[[], None]:
    """A text to be typed: one line, which opens while it has the keyboard's focus. Streamlit itself hears of it."""
    key = selection.bar_key(name)
    st.text_area(plain(label), key=key, height=68, placeholder=placeholder, label_visibility="collapsed")
    return lambda: None


def _row(name: str, text: str, *options: Option) -> Callable[[], None]:
    """Options of a bar, read when it is run or when the returned function is called; `text` is their line's."""
    run = _run_last([*(option.name for option in options), text])
    key, epoch = selection.widget_key(name), selection.asks()
    return form_row(options, key=key, epoch=epoch, run=run, text=run.get(text))


def _run_last(names: Sequence[str]) -> dict[str, Any]:
    """The fields' values in the pending or active selection, without those left to the page."""
    now = selection.pending() or selection.active()
    values = {} if now is None else {name: _held(now, name) for name in names}
    return {name: value for name, value in values.items() if value not in (None, "")}


def _held(now: Selection, name: str) -> Any:
    """A field's value; a B without a model of its own has A's."""
    of_a = {in_b(bar.model): bar.model for bar in BARS}.get(name, name)
    return getattr(now, name) or getattr(now, of_a)


def _run_button(submit: Callable[[], None], rows: Sequence[Callable[[], None]]) -> None:
    """Button that submits a bar, once its rows have received the choices made in them."""

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
    """Option with the bar's current value of a field of the selection, whether it was run or not."""
    key = selection.bar_key(field)

    def stand(value: Any) -> None:
        st.session_state[key] = value

    return kind(field, label, st.session_state[key], stand, **look)


def model_list(
    field: str, label: str, offered: Sequence[str], help: str, labels: Mapping[str, str] | None = None
) -> Suggested | Listed:
    """List of models with the chosen one; any other can be typed, where that is allowed."""
    if models.any_model_allowed():
        look = {"offered": offered, "labels": labels or {}, "placeholder": "Choose or type a model"}
        return option(Suggested, field, label, help=help, width=MODEL_WIDTH, **look)
    names = (*offered, st.session_state[selection.bar_key(field)])
    return option(Listed, field, label, help=help, options={name: name for name in names}, width=MODEL_WIDTH)


def _alignment(field: str) -> Choice:
    """Alignment of A and B."""
    return option(Choice, field, "Align by", help=TERMS["align"], options=ALIGN)


def _hint(fields: Sequence[str]) -> None:
    """Hint that B was added while its fields still have A's values."""
    state, key = st.session_state, selection.bar_key
    if all(state[key(field)] == state[key(f"{field}_b")] for field in fields):
        st.caption("Change B and press Run.", width="content")


def menus(bar: Bar, examples: Sequence[AnyExample], show: Callable[[AnyExample], None], *more: Link) -> DeltaGenerator:
    """Draw the row of menus (examples, actions, lessons, the tour), and return its start, left free for the run."""
    with st.container(horizontal=True, key="headlight-menus"):
        beginning = st.container(key="headlight-run")
        key, titles = selection.widget_key(f"examples{bar.fields.key}"), {each.name: each for each in examples}

        def open_chosen() -> None:
            show(titles[st.session_state[key]])

        with st.container(horizontal=True, key="headlight-tools"):  # which go to a line of their own together
            st.menu_button("Examples", list(titles), key=key, type="tertiary", on_click=open_chosen)
            option_row(
                [*_links(bar), *more, lessons.link(), tour.link()], key=selection.widget_key(f"compare{bar.fields.key}")
            )
    tour.draw()
    return beginning


def offer(question: str, example: AnyExample, show: Callable[[AnyExample], None], slug: str) -> None:
    """An example, where nothing of what was asked for could be run and nothing else is on the page.

    Beside it stands the picture of the page `slug`, if that is of the example.
    """
    left, right = st.columns([2, 3], gap="large")
    with left:
        heading(question, level=1, key="empty")
        key = selection.widget_key("offered_example")
        st.button(plain(f"Open an example: {example.name}"), type="primary", key=key, on_click=show, args=(example,))
    with right:
        preview(slug)


def _links(bar: Bar) -> Iterator[Link]:
    """One opens B and closes it again, so that the keyboard's focus stays on it."""
    if not selection.comparing(bar.fields):
        yield link("compare", "Compare A | B", lambda: selection.compare(bar.fields), bar.adds)
        return
    yield link("compare", "Close B", lambda: selection.compare_no_more(bar.fields), "Continue with A only.")
    yield link("swap", "Swap A and B", lambda: selection.swap(bar.fields))


def link(name: str, label: str, do: Callable[[], None], help: str = "", opened: bool | None = None) -> Link:
    """Action in the row of menus; `opened` if it opens and closes the part below."""
    return Link(name, label, None, lambda _: do(), help, opened=opened)
