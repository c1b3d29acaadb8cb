"""The menu of a head, which opens wherever one is named: the pages that show it, and its ablation."""

from collections.abc import Iterable
from dataclasses import replace

import streamlit as st

from headlight.app import selection
from headlight.app.frame.edits import drawer
from headlight.app.frame.view import PROMPTED, View
from headlight.app.parts import options
from headlight.model.runs.edits import MAX_EDITS, AblateHeads, Head

ABLATE = "ablate"


def entries(views: Iterable[View], view: View) -> dict[str, str]:
    """Entries by slug on the page of a view; none on pages whose heads the other pages do not show."""
    if view.kind is not PROMPTED or selection.active() is None:
        return {}
    return {each.slug: each.of_head for each in views if each.of_head} | {ABLATE: "Ablate in run A"}


def follow(slug: str, head: Head) -> None:
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
