"""Drawer on every decoder-only page that makes B from A: edits with a switch each, and their effect."""

from dataclasses import replace

import streamlit as st

from headlight.app import selection
from headlight.app.components import Button, Link, Switch
from headlight.app.frame import bars, means
from headlight.app.frame.edits import effect, form
from headlight.app.glossary import TERMS
from headlight.app.parts import options
from headlight.app.runs import comparisons
from headlight.app.selection import Selection
from headlight.model.base.errors import HeadlightError
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import MAX_EDITS, Edit, describe, sources


def link() -> Link:
    """Button that opens and closes the drawer."""
    return bars.link("edits", "Edit run A", _turn, "Ablate, patch or steer: B is then run A with the edit.", _is_open())


def _is_open() -> bool:
    return bool(st.session_state.get(form.key("open")))


def open_it() -> None:
    """Open the drawer, if it is not open."""
    st.session_state[form.key("open")] = True


def _turn() -> None:
    st.session_state[form.key("open")] = not _is_open()


def draw() -> None:
    """The drawer, closed at first."""
    with st.container(key="headlight-drawer"):  # open or not, so that what is below it is not made anew
        if _is_open():
            _draw()


@st.fragment
def _draw() -> None:
    """Draw the drawer as a fragment: a change in it redraws it alone, unless it needs another run."""
    seen = selection.active()
    if seen is None or selection.pending() is not None:
        st.rerun()
    with st.container(border=True):
        _content(seen)


def _content(seen: Selection) -> None:
    if not seen.edits:
        st.caption(TERMS["edits"])
    if seen.prompt_b is not None:
        st.caption("The pages compare prompts A and B without edits. Here each of them is edited by itself.")
    runs = comparisons.for_selection(seen)
    with st.container(key="headlight-edits-and-effect"):
        edits = st.container(key="headlight-edits")
        with edits:
            for place, edit in enumerate(seen.edits):
                _row(place, edit, seen)
            if added := form.draw(runs, seen):
                change((*seen.edits, added), seen.edits_off, closes_b=False)
                st.rerun()
        if len(seen.edits_off) < len(seen.edits):
            with st.container(key="headlight-edits-effect" if seen.prompt_b is None else "headlight-edits-effects"):
                edited = _effects(runs, seen)
            with edits:
                effect.draw_reach(edited)
    means.step(form.MEAN)


def _effects(comparison: Comparison, seen: Selection) -> dict[str, Comparison]:
    """Draw what the edits that are switched on change; return each run that they act on with its edited one."""
    edited: dict[str, Comparison] = {}
    for side in comparison.sides if seen.prompt_b is not None else ("",):
        try:
            edited[side] = comparisons.edited(seen, side)
        except HeadlightError as error:
            st.text(f"{side}: {error}" if side else str(error))
    effect.draw(
        {
            side: effect.measured(comparison, seen, side, before_and_after) | effect.of_output(*before_and_after.runs)
            for side, before_and_after in edited.items()
        }
    )
    return edited


def _row(place: int, edit: Edit, seen: Selection) -> None:
    on = place not in seen.edits_off
    from_where = " from " + " − ".join(f"“{prompt}”" for prompt in sources(edit)) if sources(edit) else ""
    options.row(
        Switch(f"edit_on_{place}", f"{describe(edit)}{from_where}", on, lambda to: _switch(place, to)),
        bars.link(f"remove_{place}", "Remove", lambda: _remove(place), f"Remove edit {place + 1}"),
        name=f"edit {place}",
        whole=True,
    )


def _switch(place: int, on: bool) -> None:
    now = selection.current()
    off = set(now.edits_off) - {place} if on else {*now.edits_off, place}
    change(now.edits, tuple(sorted(off)), closes_b=False)


def _remove(place: int) -> None:
    now = selection.current()
    off = tuple(other - (other > place) for other in now.edits_off if other != place)
    change(now.edits[:place] + now.edits[place + 1 :], off, closes_b=False)


def ablating(name: str, edit: Edit, help: str) -> Button:
    """Button that adds an edit, so that B is A without a part on every page; `help` describes it."""
    now = selection.current()
    there, full = edit in now.edits, len(now.edits) >= MAX_EDITS

    def add() -> None:
        change((*selection.current().edits, edit), selection.current().edits_off)

    hint = "Already in the list of edits." if there else help
    return options.button(name, "Ablate", add, hint, disabled=there or full)


def change(edits: tuple[Edit, ...], off: tuple[int, ...], closes_b: bool = True) -> None:
    """Ask for A with these edits as B; a prompt B gives way if it has to."""
    now = replace(selection.current(), edits=edits, edits_off=off)
    selection.ask_instead(replace(now, prompt_b=None, model_b="") if closes_b else now)
