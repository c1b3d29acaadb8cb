"""Streamlit's and Plotly's own parts in the place of ours, with the same arguments: what `tests.bench.parts` measures.

They show what ours show and hear what the user does as far as the library can; what it cannot is not made up for.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from headlight.app import components
from headlight.app.components import Button, Choice, Link, Listed, Number, Option, Several, Slider, Suggested, Switch
from headlight.app.figures import Axis, Plot, figure, likeliest, plots

ESCAPED = re.compile(r"([\\`*_{}\[\]()#+\-.!|~$:<>])")


def heading(text: str, help: str = "", caption: str = "", *, key: str) -> None:
    st.subheader(ESCAPED.sub(r"\\\1", text), help=help or None, anchor=False)
    if caption:
        st.caption(ESCAPED.sub(r"\\\1", caption))


def nav_bar(groups: Any, shown: str, said: str, *, key: str, turn_to: Callable[[str], None]) -> None:
    pages = {
        group: [st.Page(lambda: None, title=title, url_path=slug) for slug, title in of_group.items()]
        for group, of_group in groups.items()
    }
    slugs = [slug for of_group in groups.values() for slug in of_group]
    asked = st.navigation(pages, position="top").url_path or slugs[0]
    if asked != shown:
        turn_to(asked)


def tour(steps: Sequence[Any], *, key: str, asked: int) -> None:
    if st.session_state.get(f"{key}.shown") == asked:
        return

    @st.dialog(steps[0].title)
    def first() -> None:
        st.text(steps[0].text)
        st.button("Next", key=f"{key}.next")

    st.session_state[f"{key}.shown"] = asked
    first()


def option_row(options: Sequence[Option], *, key: str, whole: bool = False) -> None:
    _row(options, key, heard=True)


def form_row(options: Sequence[Option], *, key: str, epoch: int) -> Callable[[], None]:
    return _row(options, key, heard=False)


def _row(options: Sequence[Option], key: str, heard: bool) -> Callable[[], None]:
    def note(option: Option) -> None:
        option.change(option.read(st.session_state[f"{key}.{option.name}"]))

    def draw(listed: Sequence[Option]) -> None:
        for option in listed:
            _widget(option, f"{key}.{option.name}", {"on_change": partial(note, option)} if heard else {})

    with st.container(horizontal=True, vertical_alignment="bottom", width="content"):
        draw([option for option in options if not option.folded])
        if folded := [option for option in options if option.folded]:
            with st.popover("More options"):
                draw(folded)
    valued = [option for option in options if not isinstance(option, Button)]
    return lambda: [note(option) for option in valued if f"{key}.{option.name}" in st.session_state] and None


def _widget(option: Option, key: str, hear: dict[str, Any]) -> None:
    if isinstance(option, Button):
        look: Any = "tertiary" if isinstance(option, Link) else "secondary"
        name, press = option.label, lambda: option.change(None)
        st.button(name, key=key, help=option.help, type=look, on_click=press, disabled=option.disabled)
        return
    st.session_state[key] = option.raw
    common = {"key": key, "help": option.help or None, **hear}
    match option:
        case Several():
            st.multiselect(option.label, list(option.options.values()), width=option.width, **common)
        case Listed():
            st.selectbox(option.label, list(option.options.values()), width=option.width, **common)
        case Choice():
            st.segmented_control(option.label, list(option.options.values()), **common)
        case Switch():
            st.toggle(option.label, **common)
        case Suggested():
            st.selectbox(option.label, list(option.offered), accept_new_options=True, width=option.width, **common)
        case Slider():
            st.slider(option.label, option.least, option.most, step=option.step, width=option.width, **common)
        case Number():
            number, place = type(option.step), option.placeholder or None
            ends = {"min_value": number(option.least), "max_value": number(option.most), "step": option.step}
            st.number_input(option.label, placeholder=place, width=option.width, **ends, **common)
        case _:
            st.text_input(option.label, placeholder=option.placeholder, width=option.width, **common)  # type: ignore[attr-defined]


def row_table(columns: Sequence[Any], *, title: str, key: str, choosable: bool = True, **look: Any) -> int | None:
    data = {
        each.name: [" ".join(cell) if isinstance(cell, list | tuple) else cell for cell in each.cells]
        for each in columns
    }
    on_select: Any = "rerun" if choosable else "ignore"
    shown = st.dataframe(
        data, hide_index=True, alt=title, key=f"{key}.library", on_select=on_select, selection_mode="single-row"
    )
    rows = shown["selection"]["rows"] if choosable else []
    return rows[0] if rows else None


def cell_map(
    values: np.ndarray,
    rows: Any,
    columns: Any,
    *,
    title: str,
    key: str,
    scale: str = "linear",
    ends: tuple[float, float] | None = None,
    **look: Any,
) -> Any:
    down, along = Axis(rows.name, rows.labels, down=True), Axis(columns.name, columns.labels)
    kind: Any = "diverging" if scale == "signed" else scale
    both = (-ends[1], ends[1]) if ends and scale == "signed" else ends
    _chart(plots.cells(values, down, along, title=title, unit="", scale=kind, ends=both), key)
    return look.get("chosen")


def token_bars(prompt: Sequence[str], steps: Sequence[Any], *, step: int, key: str, **look: Any) -> None:
    names = [f"{place} {each.label}" for place, each in enumerate(steps)]
    st.pills("Step", names, default=names[step], key=f"{key}.library")
    tokens = [choice.label for choice in steps[step].choices]
    before, after = (
        np.array([getattr(choice, when) for choice in steps[step].choices]) for when in ("before", "after")
    )
    _chart([likeliest(tokens, before, "before"), likeliest(tokens, after, "drawn with")], f"{key}.bars")


def _chart(drawn: Plot | list[Plot], key: str) -> None:
    rows = [drawn] if isinstance(drawn, list) else [[drawn]]
    dark = st.context.theme.type == "dark"
    st.plotly_chart(figure(rows, dark), theme=None, key=f"{key}.library")


PARTS: dict[str, tuple[Callable[..., Any], ...]] = {
    "heading": (heading,),
    "nav_bar": (nav_bar,),
    "tour": (tour,),
    "options": (option_row, form_row),
    "row_table": (row_table,),
    "cell_map": (cell_map,),
    "token_bars": (token_bars,),
}


PLACED = ("nav_bar", "tour")


def swap(part: str, side: str) -> None:
    """Put the library's part in the place of ours, or leave ours; either in a container that the browser can name,
    unless the page's own style looks for it where it is.
    """
    for library in PARTS[part]:
        name = library.__name__
        shown = library if side == "library" else getattr(components, name)
        setattr(components, name, shown if part in PLACED else _named(shown))


def _named(draw: Callable[..., Any]) -> Callable[..., Any]:
    def drawn(*arguments: Any, key: str, **named: Any) -> Any:
        with st.container(key=f"measured-{key}", width="content" if "row" in draw.__name__ else "stretch"):
            return draw(*arguments, key=key, **named)

    return drawn
