"""Lines above a page that say what could not be done. Their text is plain: it may quote what the user typed."""

import streamlit as st

from app import selection
from app.shown import Shown

PROMPT_NAMES = {"prompt": "prompt A", "prompt_b": "prompt B"}


def refused(reason: str, what: str = "page") -> None:
    """Why something is not shown; a page may say it of several things, and each has to be another `what`."""
    with st.container(key=f"headlight-refused-{what}", border=True):
        st.text(reason)


def draw(unread: tuple[str, ...], refusal: str, found: Shown | None) -> None:
    """What of the URL was not understood, and why the last prompt was not run."""
    if missing := [PROMPT_NAMES[name] for name in unread if name in PROMPT_NAMES]:
        st.info(f"This link does not hold {' and '.join(missing)}. Paste the text that was sent along with it.")
    if lost := [name for name in unread if name not in PROMPT_NAMES]:
        st.info(f"Not all of this link could be read; left out: {', '.join(lost)}.")
    if refusal:
        refused(refusal, "prompt")
        if found is not None:
            several = found.b is not None
            st.caption(f"Below is still the result for the previous prompt{'s' if several else ''}:")
            for run in found.runs:
                st.text(run.prompt)
    if found is not None and (too_long := selection.too_long_for_url(selection.current())):
        which = " and ".join(PROMPT_NAMES[name] for name in too_long)
        st.caption(f"This page's link does not hold {which}, which no URL has room for: send the text along with it.")
