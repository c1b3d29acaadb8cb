"""The work behind *Heads of this model*: what has yet to be looked at or ablated, done at once or when asked to."""

from collections.abc import Mapping, Sequence

import streamlit as st

from app import detection, notices, selection
from app.detection import AblationJob, Fed
from app.jobs import Jobs
from app.views.found import Found
from app.views.subjects import Subject

AT_ONCE = 3.0  # seconds by estimate; what takes longer waits for a click


def look(work: Jobs, sides: Mapping[str, Subject]) -> None:
    """Look at what has not been looked at: at once where that is quick, else when asked to."""
    every = [fed for subject in sides.values() for fed in subject.sequences]
    missing = [fed for fed in every if detection.seen(fed) is None and fed not in work.refused]
    if work.waiting and missing and missing[0] not in work.waiting:
        work.start(())  # what is waiting is of another seed or model that nobody looks at any more
    _progress(work)
    refused = [work.refused[fed] for fed in every if fed in work.refused]
    if refused:
        notices.refused(f"{len(refused):,} of {len(every):,} cannot be looked at. {refused[0]}", "sequences")
    seconds = sum(_looking_seconds(subject, missing) for subject in sides.values())
    _offer(work, missing, seconds, f"Look at {len(missing):,} sequences", "look")


def _looking_seconds(subject: Subject, missing: Sequence[Fed]) -> float:
    own = [fed for fed in missing if fed in subject.sequences]
    n_tokens = len(subject.run.tokens) if subject.sequences[0].prompt else 2 * subject.half + subject.run.bos
    return detection.looking_seconds(subject.run.cfg, subject.passes * len(own), n_tokens)


def ablate(work: Jobs, found: Mapping[str, Found]) -> None:
    """Ablate, on each side, the heads that have a label on any, or all of them, in the same way."""
    labelled = {head for each in found.values() for head in each.labels}
    missing, seconds = list[AblationJob](), 0.0
    for each in found.values():
        subject = each.subject
        if subject.half:
            heads = [head for head in subject.heads if selection.current().every_head or head in labelled]
            jobs_here = [job for job in detection.ablation_jobs(subject.repeats, heads) if job not in work.refused]
            seconds += detection.ablating_seconds(subject.run.cfg, jobs_here, 2 * subject.half + subject.run.bos)
            missing += jobs_here
    open_heads = {head for job in missing for head in job.heads}
    _offer(work, missing, seconds, f"Ablate {len(open_heads):,} head{'' if len(open_heads) == 1 else 's'}", "ablate")


def _progress(work: Jobs) -> None:
    """How far the work is, and the button that stops it."""
    if work.halted:
        notices.refused(work.halted, "detection")
    if work.waiting:
        st.progress(work.done / work.total, f"{work.done:,} of {work.total:,} runs done")
        st.button("Stop", on_click=work.stop, key=selection.widget_key("stop_finding"))


def _offer(work: Jobs, missing: Sequence[Fed | AblationJob], seconds: float, label: str, key: str) -> None:
    """Start what is missing where that is quick, else offer to; one kind of work after the other."""
    if not missing or work.waiting:
        return
    if seconds <= AT_ONCE and not work.stopped and not work.halted:
        work.start(missing)
        return
    about = f"about {seconds:,.0f} s" if seconds >= 1 else "less than a second"
    st.button(
        f"{label} ({about})",
        type="primary",
        on_click=lambda: work.start(missing),
        key=selection.widget_key(f"start_{key}"),
    )
