"""Lines above a page that say what could not be done. Their text is plain: it may quote what the user typed."""

import streamlit as st

from app import selection
from app.runs import Run


def refused(reason: str) -> None:
    """Why something is not shown."""
    with st.container(key="headlight-refused", border=True):
        st.text(reason)


def draw(unread: tuple[str, ...], refusal: str, run: Run | None) -> None:
    """What of the URL was not understood, and why the last prompt was not run."""
    if unread:
        st.info(f"Not all of this link could be read; left out: {', '.join(unread)}.")
    if refusal:
        refused(refusal)
        if run is not None:
            st.caption("Below is still the result for the previous prompt:")
            st.text(run.prompt)
    if run is not None and not selection.fits_url(selection.current()):
        st.caption("The prompt is too long for a link: this page's link does not hold it.")
