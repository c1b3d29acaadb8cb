"""The session's side of the prompt bar: what decoder-only models read, one prompt or two."""

from dataclasses import replace

import streamlit as st

from headlight.app.selection.session import IN_PROMPT_BAR, _session, ask_instead, current, forgotten, widget_key


def submit() -> None:
    """Ask for what stands in the prompt bar; what was chosen stays where it still means something."""
    if forgotten():
        _session().late = True
        return
    now = current()
    typed = {name: st.session_state[widget_key(name)] for name in IN_PROMPT_BAR if widget_key(name) in st.session_state}
    if not comparing():
        typed |= {"model_b": "", "prompt_b": None, "align": now.align}
    elif typed["model_b"] == typed["model"]:
        typed["model_b"] = ""
    ask_instead(replace(now, **typed))


def compare() -> None:
    """Open the second prompt, filled with the first for the user to change."""
    if forgotten():
        return
    _session().comparing = True
    for name in ("model", "prompt"):
        st.session_state[widget_key(f"{name}_b")] = st.session_state[widget_key(name)]


def compare_no_more() -> None:
    """Close the second prompt and go on with A alone."""
    _session().comparing = False
    if current().prompt_b is not None:
        ask_instead(replace(current(), model_b="", prompt_b=None))


def swap() -> None:
    """Make A of B and B of A."""
    now = current()
    if now.prompt_b is not None:
        model_b = now.model_b or now.model
        ask_instead(
            replace(
                now,
                model=model_b,
                prompt=now.prompt_b,
                model_b="" if model_b == now.model else now.model,
                prompt_b=now.prompt,
            )
        )


def comparing() -> bool:
    """Whether the second prompt is open, run or not yet."""
    return _session().comparing
