"""The text as it is being written, in slices between which a press of Stop is heard."""

import time
from collections.abc import Hashable

import streamlit as st

from headlight.app import selection
from headlight.app.pages.generate import generation
from headlight.app.pages.generate.choices import Choices
from headlight.app.parts.markdown import plain
from headlight.model.decoding.continued import Writing, drawing_of
from headlight.model.decoding.drawing import Drawing
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run

SLICE = 1.5  # seconds of writing, until clicks are heard
MAX_RUNS = 2  # A and B
REDRAWN = 0.1  # seconds between two drawings of the text


def draw(comparison: Comparison) -> None:
    """Write until all that was wanted is there; what takes long is shown as it comes, and the page is drawn again.

    Raises:
        HeadlightError: the selection, a model or the machine does not allow it; the message says what would.
    """
    how = generation.checked(comparison, selection.current())
    for run in comparison.runs:
        if not _is_written(run, how):
            _write(run, how)
            st.rerun()
    _under_way().clear()


def _write(run: Run, how: Writing) -> None:
    """Write for a slice of time, and show the text so far; return if all is written then."""
    drawing, prefix, ends = _drawing(run, how), how.given_to(run), how.ends_of(run)
    n_more = how.n_new - len(prefix)

    def stop() -> None:
        tokens, _ = drawing.so_far(n_more, ends)
        selection.choose(Choices, n_new=max(1, len(prefix) + len(tokens)))

    with st.container(key="headlight-writing"):
        place = st.empty()
        st.button("Stop", on_click=stop, key=selection.widget_key("stop_writing"))
    begun, drawn = time.monotonic(), 0.0
    while True:
        tokens, reason = drawing.so_far(n_more, ends)
        if reason is not None:
            return
        if time.monotonic() - drawn > REDRAWN:
            with place.container():
                _show(run, (*prefix, *tokens), how.n_new)
            drawn = time.monotonic()
        drawing.draw(len(tokens) + 1)
        if time.monotonic() - begun > SLICE:
            return


def _is_written(run: Run, how: Writing) -> bool:
    prefix, ends = how.given_to(run), how.ends_of(run)
    n_more = how.n_new - len(prefix)
    if n_more == 0 or (prefix and prefix[-1] in ends):
        return True
    return _drawing(run, how).so_far(n_more, ends)[1] is not None


def _drawing(run: Run, how: Writing) -> Drawing:
    """What is drawn so far, held by the session until all is: a small cache would begin anew at each slice."""
    under_way, name = _under_way(), (run.key, how.given_to(run), how.sampling, how.seed)
    if name not in under_way:
        if len(under_way) >= MAX_RUNS:  # of prompts that were left half written
            under_way.clear()
        under_way[name] = drawing_of(run, how)
    return under_way[name]


def _under_way() -> dict[Hashable, Drawing]:
    return st.session_state.setdefault(selection.widget_key("writing"), {})


def _show(run: Run, tokens: tuple[int, ...], n_new: int) -> None:
    """The text so far, which Stop leaves as it is."""
    st.text(run.tokenizer.to_string(tokens))
    st.progress(len(tokens) / n_new, plain(f"{len(tokens):,} of {n_new:,} tokens written"))
