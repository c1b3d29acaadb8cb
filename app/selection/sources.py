"""The session's side of the source bar: what encoder-decoders read, one source or two."""

from dataclasses import replace

import streamlit as st

from headlight.app.selection.session import IN_SOURCE_BAR, _session, ask_instead, current, forgotten, widget_key

_PAIRS = {"translator": "translator_b", "source": "source_b", "translation": "translation_b"}


def submit_source() -> None:
    """Ask for what stands in the source bar."""
    if forgotten():
        _session().late = True
        return
    typed = {name: st.session_state[key] for name in IN_SOURCE_BAR if (key := widget_key(name)) in st.session_state}
    typed["translation"] = typed["translation"] or None
    if not comparing_sources():
        typed |= {"translator_b": "", "source_b": None, "translation_b": None, "pair_align": current().pair_align}
    else:
        typed["translation_b"] = typed["translation_b"] or None
        if typed["translator_b"] == typed["translator"]:
            typed["translator_b"] = ""
    ask_instead(replace(current(), **typed))


def compare_sources() -> None:
    """Open the second source, filled with the first for the user to change."""
    if forgotten():
        return
    _session().comparing_sources = True
    for name in ("translator", "source", "translation"):
        st.session_state[widget_key(f"{name}_b")] = st.session_state[widget_key(name)]


def compare_sources_no_more() -> None:
    """Close the second source and go on with A alone."""
    _session().comparing_sources = False
    if current().source_b is not None:
        ask_instead(replace(current(), translator_b="", source_b=None, translation_b=None))


def swap_sources() -> None:
    """Make A of B and B of A."""
    now = current()
    if now.source_b is None:
        return
    swapped = {b: getattr(now, a) for a, b in _PAIRS.items()} | {a: getattr(now, b) for a, b in _PAIRS.items()}
    swapped["translator"] = now.translator_b or now.translator
    swapped["translator_b"] = "" if swapped["translator"] == now.translator else now.translator
    ask_instead(replace(now, **swapped))


def comparing_sources() -> bool:
    """Whether the second source is open, run or not yet."""
    return _session().comparing_sources
