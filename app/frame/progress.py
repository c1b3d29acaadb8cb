"""Progress of long work: a bar with an estimate, and buttons that start, stop and resume it."""

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.app import selection
from headlight.app.frame import notices
from headlight.app.parts.markdown import plain
from headlight.app.runs import passes
from headlight.app.runs.jobs import Cost, Jobs
from headlight.app.server import presses

Value = TypeVar("Value")
Piece = TypeVar("Piece", bound=Hashable)

AT_ONCE = 3.0  # seconds by estimate; what takes longer waits for a click
PATIENCE = 1.0  # seconds of a pass for which a spinner says enough
INSTANT = 0.1  # seconds within which steps are done that were kept from before


def offer(
    work: Jobs,
    missing: Sequence[Hashable],
    label: str,
    key: str,
    seconds: float | None,
    at_once: float | None = None,
    about: str = "about",
    cost: Cost | None = None,
) -> bool:
    """Start missing work: at once where that is quick and was not stopped, else on a click; return whether it started.

    Without an estimate in `seconds` it waits for a click. `cost` is the estimate of a piece, where one takes longer
    than another.
    """
    if work.halt_if_lost(missing):
        st.rerun()  # the bar, which says so, may stand above and have been drawn
    if not missing or work.waiting:
        return False
    quick = seconds is not None and seconds <= (AT_ONCE if at_once is None else at_once)
    if quick and not work.stopped and not work.halted:
        work.start(missing, cost)
        return True
    takes = "" if seconds is None else f" ({f'{about} {_time(seconds)}' if seconds >= 1 else 'less than a second'})"
    st.button(
        plain(f"{label}{takes}"),
        type="primary",
        on_click=lambda: work.start(missing, cost),
        key=selection.widget_key(f"start_{key}"),
    )
    return False


def missing(work: Jobs, pieces: Sequence[Piece], is_done: Callable[[Piece], bool], key: str) -> list[Piece]:
    """The pieces that are not done yet; nothing else is worked on, and it is said why some cannot be done."""
    work.keep_to(pieces)
    for reason in dict.fromkeys(work.refused[piece] for piece in pieces if piece in work.refused):
        notices.refused(reason, key)
    return [piece for piece in pieces if piece not in work.refused and not is_done(piece)]


def bar(work: Jobs, done: str, key: str) -> None:
    """Progress bar with the number of completed parts and a stop button, or the reason why the work stopped."""
    if not (work.halted or work.waiting):
        st.empty()  # in the place of one that was drawn, which would else stay until all work of the page is done
        return
    with st.container():
        if work.halted:
            notices.refused(work.halted, key)
        if work.waiting:
            left = _said_left(work.seconds_left)
            st.progress(work.done / work.total, plain(f"{work.done:,} of {work.total:,} {done}{left}"))
            st.button("Stop", on_click=work.stop, key=selection.widget_key(f"stop_{key}"))


def watched(
    said: str, steps: str, key: str, subject: Hashable, make: Callable[[], Value], *, resumes: bool = False
) -> Value | None:
    """Result of `make`, with a progress bar while it takes long; None where it was stopped for this subject.

    There is a button then that begins it again. Work that `resumes` keeps its steps: it gives way to any click, and
    goes on from there when the page is drawn again.
    """
    if is_stopped(key, subject):
        again = selection.widget_key(f"again_{key}")
        st.button(plain(f"Start {said} again"), on_click=st.session_state.pop, args=(_stopped(key),), key=again)
        return None

    def stop() -> None:
        st.session_state[_stopped(key)] = subject

    with of_steps(f"{said[0].upper()}{said[1:]}…", stop, steps, key, resumes):
        return make()


def is_stopped(key: str, subject: Hashable) -> bool:
    """Whether the user stopped the work under this key for this subject, and has not resumed it."""
    return bool(st.session_state.get(_stopped(key)) == subject)


def _stopped(key: str) -> str:
    return selection.widget_key(f"stopped.{key}")


@contextmanager
def of_steps(
    said: str, stop: Callable[[], None], steps: str = "layers done", key: str = "pass", resumes: bool = False
) -> Iterator[None]:
    """While something is computed inside the `with` block, a spinner; if it takes long, its steps and a button.

    After a press Streamlit ends the script's run, and with it the computation, at the next step, and then calls `stop`.
    Where the computation `resumes`, any other event on the page ends it too.
    """
    place, bars, begun, before, drawn = st.empty(), list[DeltaGenerator](), 0.0, 0, ""
    button = selection.widget_key(f"stop_{key}")

    def hear_events() -> None:
        presses.let_through(None if resumes else button)
        hear_stop()

    def hear(done: int, total: int, note: str) -> None:
        nonlocal begun, before, drawn
        hear_events()
        begun = begun if done else time.monotonic()
        took = time.monotonic() - begun
        before = done if took < INSTANT else before
        if total and not bars and took < PATIENCE:
            return
        left = took / (done - before) * (total - done) if done > before else None
        share = done / total if total else 0.0
        text = f"{done:,} of {total:,} {note or steps}{_said_left(left)}" if total else f"{note}…"
        if text == drawn:  # to send it to a hundred browsers takes time from the run that they wait for
            return
        drawn = text
        if bars:
            bars[0].progress(share, plain(text))
            return
        with place.container():
            bars.append(st.progress(share, plain(text)))
            st.button("Stop", on_click=stop, key=button)

    try:
        with st.spinner(plain(said), show_time=True), passes.heard_by(hear, hear_events):
            yield
    except Exception:  # Streamlit's own ending of a run is none, and draws nothing more
        place.empty()
        raise
    if bars:
        place.empty()


def hear_stop() -> None:
    """End the script here if Stop was pressed or the page was closed: Streamlit does so where its state is read."""
    st.session_state.get("any name")


def _said_left(seconds: float | None) -> str:
    """Describe the remaining time; empty where it is unknown or short."""
    return "" if seconds is None or seconds < 1 else f", about {_time(seconds)} left"


def _time(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds < 120 else f"{seconds / 60:,.0f} min"


def go_on(work: Jobs, do: Callable[[Any], object]) -> None:
    """Do some of the waiting work, and draw the page again."""
    if not work.waiting:
        work.settle()
        return
    place = st.empty()

    def check() -> None:  # a step is begun anew at its beginning, which only Stop is worth
        presses.let_through(selection.widget_key("stop_*"))
        hear_stop()

    def hear(done: int, total: int, note: str) -> None:
        check()
        if not total:  # it waits for another session, and gives its turn up where anything is clicked, as Stop
            presses.let_through()
            place.caption(plain(f"{note}…"))

    with passes.heard_by(hear, check):
        work.step(do)
    hear_stop()  # and Back: drawing the page again would put its own address in the place of Back's
    st.rerun()
