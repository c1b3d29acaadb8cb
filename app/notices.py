"""Lines above a page that say what could not be done. Their text is plain: it may quote what the user typed."""

import streamlit as st

from app import selection

PROMPT_NAMES = {
    "prompt": "prompt A",
    "prompt_b": "prompt B",
    "source": "the source",
    "translation": "the target",
}
LONG_NAMES = PROMPT_NAMES | {"edits": "the edits", "mean_over": "the prompts that a mean is over"}


def refused(reason: str, what: str = "page") -> None:
    """Why something is not shown; a page may say it of several things, and each has to be another `what`."""
    with st.container(key=f"headlight-refused-{what}", border=True):
        st.text(reason)


def draw(unread: tuple[str, ...], refusal: str, inputs: tuple[str, ...] | None) -> None:
    """What of the URL was not understood, and why the last input was not run; `inputs` are those that are shown."""
    if missing := [PROMPT_NAMES[name] for name in unread if name in PROMPT_NAMES]:
        st.info(f"This link does not hold {' and '.join(missing)}. Paste the text that was sent along with it.")
    if lost := [name for name in unread if name not in PROMPT_NAMES]:
        st.info(f"Not all of this link could be read; left out: {', '.join(lost)}.")
    if refusal:
        refused(refusal, "prompt")
        if inputs is not None:
            st.caption(f"Below is still the result for the previous prompt{'s' if len(inputs) > 1 else ''}:")
            for text in inputs:
                st.text(text)
    if inputs is not None and (too_long := selection.too_long_for_url(selection.current())):
        which = " and ".join(LONG_NAMES[name] for name in too_long)
        st.caption(f"This page's link does not hold {which}, which no URL has room for: send the text along with it.")
