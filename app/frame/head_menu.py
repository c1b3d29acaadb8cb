"""The menu of a head, which opens wherever one is named: it leads to the pages that show it, and to its ablation."""

from dataclasses import replace

import streamlit as st

from headlight.app import selection
from headlight.app.frame.edits import drawer
from headlight.app.parts import options
from headlight.model.runs.edits import MAX_EDITS, AblateHeads, Head

ABLATE = "drawer"
ENTRIES = {ABLATE: "Ablate in run A"}


def follow(slug: str, head: Head, _: str) -> None:
    """Show a head on a page, or ablate it; its strongest cell takes the place of a chosen one."""
    if selection.forgotten() or selection.active() is None:
        return
    now = selection.current()
    if slug != ABLATE:
        selection.ask(replace(now, heads=options.head_first(head, now.heads), keys=()), slug)
        return
    edit = AblateHeads((head,), "zero")
    drawer.open_it()  # where its effect is said
    if edit in now.edits:
        drawer.change(now.edits, tuple(place for place in now.edits_off if now.edits[place] != edit), closes_b=False)
    elif len(now.edits) < MAX_EDITS:
        drawer.change((*now.edits, edit), now.edits_off, closes_b=False)
    else:
        st.toast(f"{MAX_EDITS} edits are as many as a run takes. Remove one to add another.")
