"""The drawer on every decoder-only page that makes B of A: edits with a switch each, and what they come to."""

from dataclasses import replace

import streamlit as st

from app import selection
from app import shown as pages
from app.glossary import TERMS
from app.selection import Selection
from app.views.edits import effect, form
from app.views.reasons import means
from model.edits import Edit, describe, sources


@st.fragment
def draw() -> None:
    """The drawer, closed at first. What is done in it draws it alone again, unless it asks for another run."""
    seen = selection.shown()
    if seen is None or selection.asked() is not None:
        st.rerun()
    drawer = st.expander("Edit run A", key=form.key("open"), on_change="rerun")
    if drawer.open:
        with drawer:
            _content(seen)


def _content(seen: Selection) -> None:
    st.caption(TERMS["edits"])
    if seen.prompt_b is not None:
        st.caption("B is a prompt of its own now, and edits wait. Adding or switching on an edit closes prompt B.")
    if seen.edits:
        with st.container(key="headlight-edits"):
            for place, edit in enumerate(seen.edits):
                _row(place, edit, seen)
    found = pages.of(seen)
    if added := form.draw(found.a, seen):
        change((*seen.edits, added), seen.edits_off)
        st.rerun()
    if seen.edits_on:
        effect.draw(found)
    means.step(form.MEAN)


def _row(place: int, edit: Edit, seen: Selection) -> None:
    on = place not in seen.edits_off and seen.prompt_b is None
    with st.container(horizontal=True, vertical_alignment="center", key=f"headlight-edit-{place}"):
        st.toggle(
            f"Edit {place + 1}",
            label_visibility="collapsed",
            **selection.tie(f"edit_on_{place}", on, lambda to: _switch(place, to)),
        )
        from_where = " from " + " − ".join(f"“{prompt}”" for prompt in sources(edit)) if sources(edit) else ""
        st.text(f"{describe(edit)}{from_where}")
        st.button(
            "Remove",
            key=form.key(f"remove_{place}"),
            type="tertiary",
            icon=":material/close:",
            help=f"Remove edit {place + 1}",
            on_click=_remove,
            args=(place,),
        )


def _switch(place: int, on: bool) -> None:
    now = selection.current()
    off = set(now.edits_off) - {place} if on else {*now.edits_off, place}
    change(now.edits, tuple(sorted(off)), closes_b=on)


def _remove(place: int) -> None:
    now = selection.current()
    off = tuple(other - (other > place) for other in now.edits_off if other != place)
    change(now.edits[:place] + now.edits[place + 1 :], off, closes_b=False)


def change(edits: tuple[Edit, ...], off: tuple[int, ...], closes_b: bool = True) -> None:
    """Ask for A with these edits as B; a prompt B gives way if it has to."""
    now = replace(selection.current(), edits=edits, edits_off=off)
    selection.ask_instead(replace(now, prompt_b=None, model_b="") if closes_b else now)
