"""The menu of an encoder-decoder's head: its attention, and why it looks where it does."""

import streamlit as st

from headlight.app import selection
from headlight.app.pages.translate.choices import Choices
from headlight.app.parts import options
from headlight.app.runs import translations
from headlight.model.decoding.translation import Attends
from headlight.model.runs.edits import Head

SHOW, EXPLAIN = "head-translate_heads", "head-translate_why"
ENTRIES = {SHOW: "Its attention", EXPLAIN: "Why it looks there"}
KINDS: dict[str, Attends] = {"self": "decoder", "cross": "cross", "encoder": "encoder"}  # by the names of heads
NO_TOKENS = "This model writes no tokens, so there is none for whose sake a head could be explained."


def follow(slug: str, head: Head, kind: str) -> None:
    """Show a head's attention, or explain it for the written token that is explained, or at the pinned one."""
    if selection.forgotten() or (now := selection.active()) is None:
        return
    own = now.choices_of(Choices)
    written = own.why_written
    if slug == EXPLAIN:
        if any(each.model.cfg.output != "tokens" for each in translations.for_selection(now).sides.values()):
            st.toast(NO_TOKENS)
            return
        pinned = () if own.attends == "encoder" else own.pair_queries
        written = next(iter(pinned), 0) if written is None else written
    choose(KINDS.get(kind, own.attends), head, why_written=written)


def choose(attends: Attends, head: Head, **more: object) -> None:
    """Put a head first, and leave the tokens of another kind of attention."""
    own = selection.current().choices_of(Choices)
    same = own.pair_heads if own.attends == attends else None
    kept = {} if attends != "encoder" and own.attends != "encoder" else {"pair_queries": ()}
    selection.choose(Choices, attends=attends, pair_heads=options.head_first(head, same), pair_keys=(), **(kept | more))
