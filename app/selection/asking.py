"""Session's side of a bar: submit its input, and add or remove a B."""

from dataclasses import replace
from typing import Any

import streamlit as st

from headlight.app.selection.bars import BarFields, in_b
from headlight.app.selection.session import READ, _session, ask_instead, bar_key, current, forgotten


def submit(bar: BarFields) -> None:
    """Submit the bar's input; choices that still apply stay."""
    if forgotten():
        _session().late = True
        return
    typed = {name: st.session_state[key] for name in bar.names if (key := bar_key(name)) in st.session_state}
    typed |= {name: typed[name] or None for name in set(bar.typed) & set(typed) - set(READ)}  # left empty
    if not comparing(bar):
        typed |= _without_b(bar) | {bar.align: getattr(current(), bar.align)}
    elif typed[in_b(bar.model)] == typed[bar.model]:
        typed[in_b(bar.model)] = ""
    ask_instead(replace(current(), **typed))


def compare(bar: BarFields) -> None:
    """Open B, filled with A for the user to change."""
    if forgotten():
        return
    _session().comparing.add(bar)
    for name in bar.of_a:
        st.session_state[bar_key(in_b(name))] = st.session_state[bar_key(name)]


def compare_no_more(bar: BarFields) -> None:
    """Close B and go on with A alone."""
    _session().comparing.discard(bar)
    if bar.has_b(current()):
        ask_instead(replace(current(), **_without_b(bar)))


def swap(bar: BarFields) -> None:
    """Make A of B and B of A."""
    now = current()
    if not bar.has_b(now):
        return
    pairs = [(name, in_b(name)) for name in bar.of_a]
    swapped = {b: getattr(now, a) for a, b in pairs} | {a: getattr(now, b) for a, b in pairs}
    model = getattr(now, bar.model)
    swapped[bar.model] = swapped[bar.model] or model
    swapped[in_b(bar.model)] = "" if swapped[bar.model] == model else model
    ask_instead(replace(now, **swapped))


def comparing(bar: BarFields) -> bool:
    """Whether B is open, run or not yet."""
    return bar in _session().comparing


def _without_b(bar: BarFields) -> dict[str, Any]:
    return {in_b(bar.model): "", **dict.fromkeys(map(in_b, bar.texts))}
