"""A row of options: choices, lists, switches, numbers, sliders, texts and buttons.

Streamlit has a widget for each, but with six of them a browser needs half as long again for a change of page. Here they
are the browser's own controls, and all of a row are one component.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import streamlit as st

from headlight.app.components.options.kinds import Option
from headlight.app.components.shared.mount import mount, register, reported
from headlight.app.components.shared.packing import json_array

_render = register(__file__)
NOTHING: Mapping[str, Any] = MappingProxyType({})


def option_row(options: Sequence[Option], *, key: str, whole: bool = False, title: str = "") -> None:
    """Options side by side; each option's `change` receives the user's value before the script runs again.

    On a phone they stand behind the row's button, which has that title or is called Options, unless the `whole` row is
    to be seen there too.

    The browser shows a change at once, and goes on showing it until the server has heard of it. So it reports all that
    it is not sure of, each with its time (ms), and receives the time up to which the server has heard.
    """
    _row(options, key, whole=whole, title=title)


def form_row(
    options: Sequence[Option], *, key: str, epoch: int, run: Mapping[str, Any] = NOTHING, text: str | None = None
) -> Callable[[], None]:
    """The options of a form side by side, with their labels beside them, which hear when the form is submitted.

    On a phone they stand behind a button that says what is chosen.
    What is chosen and not submitted gives way when another epoch begins. Until then an option with another value than
    was `run` last, by its name, is marked, and so is the text of the row's line if it is not this one. Returns what has
    the options hear at once: the form's own callback may be called before the row's.
    """
    return _row(options, key, epoch=epoch, in_form=True, run=run, text=text)


def _row(
    options: Sequence[Option],
    key: str,
    *,
    whole: bool = False,
    title: str = "",
    epoch: int = 0,
    in_form: bool = False,
    run: Mapping[str, Any] = NOTHING,
    text: str | None = None,
) -> Callable[[], None]:
    known = {option.name: option for option in options}

    def note() -> None:
        before = _heard(key)
        for name, (raw, time) in _reported(key).items():
            if time > before and name in known:
                _change(known[name], raw)
        _hear(key)

    _hear(key)  # of what came without a call, as after the server has lost the session
    mount(
        _render,
        key=key,
        props={
            "values": {option.name: option.raw for option in options},
            "heard": _heard(key),
            "whole": whole,
            "title": title,
            "inForm": in_form,
            "run": {name: replace(known[name], value=value).raw for name, value in run.items() if name in known},
            "text": text,
        },
        arrays={"looks": json_array([option.look() for option in options])},
        epoch=epoch,
        changed=note,
        in_form=in_form,
    )
    return note


def _change(option: Option, raw: Any) -> None:
    try:
        value = option.read(raw)
    except ValueError:  # it was on offer when it was chosen, and is so no more
        return
    option.change(value)


def _reported(key: str) -> dict[str, tuple[Any, int]]:
    return reported(key) or {}


def _heard(key: str) -> int:
    return int(st.session_state.get(f"{key}.heard", 0))


def _hear(key: str) -> None:
    st.session_state[f"{key}.heard"] = max([_heard(key), *(time for _, time in _reported(key).values())])
