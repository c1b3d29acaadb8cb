"""The jobs behind *Head roles*: sequences to run and heads to ablate, at once or on a click."""

from collections.abc import Mapping, Sequence

import streamlit as st

from headlight.app import selection
from headlight.app.frame import notices, progress
from headlight.app.pages.heads.choices import Choices
from headlight.app.pages.heads.ranking import HeadRanking
from headlight.app.pages.heads.subjects import Subject
from headlight.app.parts import detection
from headlight.app.parts.detection import AblationJob, Input
from headlight.app.runs.jobs import Jobs
from headlight.model.text.chat import is_begun


def look(work: Jobs, sides: Mapping[str, Subject]) -> None:
    """Run the remaining sequences: at once where that is quick, else on a click."""
    every = [each for subject in sides.values() for each in subject.sequences]
    missing = [each for each in every if detection.seen(each) is None and each not in work.refused]
    if work.waiting and missing and missing[0] not in work.batch:
        work.start(())  # what is waiting is of another seed or model that nobody looks at any more
    progress.bar(work, "runs done", "detection")
    refused = [work.refused[each] for each in every if each in work.refused]
    if refused:
        notices.refused(f"{len(refused):,} of {len(every):,} cannot be run. {refused[0]}", "sequences")
    seconds = sum(_looking_seconds(subject, missing) for subject in sides.values())
    progress.offer(work, missing, f"Measure {len(missing):,} sequences", "look", seconds)


def _looking_seconds(subject: Subject, missing: Sequence[Input]) -> float:
    own = [each for each in missing if each in subject.sequences]
    n_tokens = len(subject.run.tokens) if subject.sequences[0].prompt else 2 * subject.half + is_begun(subject.run.bos)
    return detection.looking_seconds(subject.run.cfg, subject.passes * len(own), n_tokens)


def ablate(work: Jobs, rankings: Mapping[str, HeadRanking]) -> None:
    """Ablate, on each side, the heads that have a label on any, or all of them, in the same way."""
    if any(not each.subject.run.cfg.predicts_tokens for each in rankings.values()):
        st.caption(
            "Heads are not ablated here: what that changes is the loss of the next token, which is not predicted."
        )
        return
    labelled = {head for each in rankings.values() for head in each.labels}
    missing, seconds = list[AblationJob](), 0.0
    for each in rankings.values():
        subject = each.subject
        if subject.half:
            heads = [
                head for head in subject.heads if selection.current().choices_of(Choices).every_head or head in labelled
            ]
            jobs_here = [job for job in detection.ablation_jobs(subject.repeats, heads) if job not in work.refused]
            seconds += detection.ablating_seconds(
                subject.run.cfg, jobs_here, 2 * subject.half + is_begun(subject.run.bos)
            )
            missing += jobs_here
    open_heads = {head for job in missing for head in job.heads}
    label = f"Ablate {len(open_heads):,} head{'' if len(open_heads) == 1 else 's'}"
    progress.offer(work, missing, label, "ablate", seconds)
