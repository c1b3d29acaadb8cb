"""Heads of this model: a score of every head as a coloured map, the first by it as a table, and their labels."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from app import detection, jobs, notices, prompt_list, selection
from app.components import encode_positive, encode_signed, head_grid
from app.detection import ABLATIONS, AblationJob, Fed
from app.glossary import TERMS
from app.jobs import Jobs
from app.run import Run
from app.selection.chosen import FinderData, Head, Selection
from app.shown import Shown
from app.views.found import Found, of, repeats_of, sequences_of, table
from app.views.head_tables import name
from app.views.labels import SCORES, by_kind, words
from app.views.parts import heading

DATA: dict[FinderData, str] = {"repeats": "random repeats", "prompts": "my prompts"}
AT_ONCE = 3.0  # seconds by estimate; what takes longer waits for a click
FIRST = 10
PITCH = 72  # pixels of a head in the map at most
SHOWS_HEADS = "attention"


def render(shown: Shown) -> None:
    """What is looked at and how far that is, the map, and the table."""
    run = shown.a
    heading("Heads of this model", "finder", "head_label")
    _options(run)
    now = selection.current()
    sequences = sequences_of(texts(), run, now)
    work = jobs.of("detection")
    _about(run, sequences, now)
    if run.edits or (shown.b is not None and shown.b.model is not run.model):
        st.caption(f"These are the heads of {run.source.name} itself, the model of A without edits.")
    _looking(run, work, sequences)
    found = of(texts(), run, now)
    if found is not None:
        _ablating(run, work, found)
        _labels(found)
        left, right = st.columns([1, 2], gap="large")
        with left:
            _map(found, now)
        with right:
            _table(found, now)
    if work.waiting:
        work.step(detection.do)
        st.rerun()


def texts() -> tuple[str, ...]:
    """The prompts of the list as it stands, for files that are made later, outside the session."""
    return tuple(prompt.text for prompt in prompt_list.prompts())


def _options(run: Run) -> None:
    now, n_heads = selection.current(), run.cfg.n_layers * run.cfg.n_heads
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control(
            "Look at the heads on",
            list(DATA),
            format_func=DATA.__getitem__,
            required=True,
            help=TERMS["finder_data"],
            **selection.bind("finder_data"),
        )
        st.selectbox(
            "Score",
            list(SCORES),
            format_func=lambda score: SCORES[score].title,
            help=TERMS[now.finder_score],
            width=200,
            **selection.bind("finder_score"),
        )
        if n_heads > 1:
            st.slider(
                "Show the first",
                1,
                n_heads,
                width=200,
                help=TERMS["finder_top"],
                **selection.bind("finder_top", default=min(FIRST, n_heads)),
            )
        st.number_input(
            "Seed", 0, 999_999, step=1, width=120, help=TERMS["finder_seed"], **selection.bind("finder_seed")
        )
        st.toggle("Ablate all heads", help=TERMS["every_head"], **selection.bind("every_head"))


def _about(run: Run, sequences: Sequence[Fed], chosen: Selection) -> None:
    """What the numbers are measured on, in a line."""
    half = detection.half_of(run.model, run.bos)
    if half == 0:
        st.caption("This model's context or vocabulary is too small for random repeats: look at your own prompts.")
        return
    behind = ", behind the beginning-of-sequence token" if run.bos else ""
    tokens = f"{detection.N_REPEATS} sequences of {half} different random tokens, each twice{behind}"
    repeats = f"{tokens}; seed {chosen.finder_seed:,}"
    if chosen.finder_data == "repeats":
        st.caption(f"Measured on {repeats}.")
    else:
        count = f"{len(sequences):,} prompt{'' if len(sequences) == 1 else 's'}"
        st.caption(f"Measured on {count} of the list, each counted once. Ablations are measured on {repeats}.")
        if len(sequences) == 1:
            st.caption("A single one has no interval, and so no head gets a label: add others on the page Prompts.")


def _looking(run: Run, work: Jobs, sequences: Sequence[Fed]) -> None:
    """Look at what has not been looked at: at once where that is quick, else when asked to."""
    missing = [fed for fed in sequences if detection.seen(fed) is None and fed not in work.refused]
    if work.waiting and missing and missing[0] not in work.waiting:
        work.start(())  # what is waiting is of another seed or model that nobody looks at any more
    _progress(work)
    refused = [work.refused[fed] for fed in sequences if fed in work.refused]
    if refused:
        notices.refused(f"{len(refused):,} of {len(sequences):,} cannot be looked at. {refused[0]}", "sequences")
    n_tokens = len(run.tokens) if sequences[0].prompt else 2 * detection.half_of(run.model, run.bos) + run.bos
    seconds = detection.looking_seconds(run.cfg, len(missing), n_tokens)
    _offer(work, missing, seconds, f"Look at {len(missing):,} sequences", "look")


def _ablating(run: Run, work: Jobs, found: Found) -> None:
    """Ablate the heads that have a label, or all of them, in the same way."""
    now, half = selection.current(), detection.half_of(run.model, run.bos)
    every = [(layer, head) for layer in range(run.cfg.n_layers) for head in range(run.cfg.n_heads)]
    heads = every if now.every_head else list(found.labels)
    if half == 0:
        return
    missing = [job for job in detection.ablation_jobs(repeats_of(run, now), heads) if job not in work.refused]
    open_heads = {head for job in missing for head in job.heads}
    seconds = detection.ablating_seconds(run.cfg, missing, 2 * half + run.bos)
    _offer(work, missing, seconds, f"Ablate {len(open_heads):,} head{'' if len(open_heads) == 1 else 's'}", "ablate")


def _labels(found: Found) -> None:
    """The heads of each kind, in a line."""
    kinds = by_kind(found.labels)
    lines = [f"{words(kind)}: {', '.join(heads)}" for kind, heads in kinds.items()]
    st.text("    ".join(lines) or "No head has a label here.")
    if found.doubted:
        names = ", ".join(map(name, found.doubted))
        st.caption(f"By the pattern alone, since ablating it does not surely raise the loss on second copies: {names}.")


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


def draw_map(found: Found, chosen: Selection, epoch: int, key: str) -> tuple[Head, ...]:
    """The score of every head as a colour, the first of them numbered; returns the heads that are chosen."""
    values = found.values[..., None, None]
    limit = float(np.nanmax(np.abs(found.values), initial=0.0)) if found.signed else 1.0
    if found.signed:
        codes = encode_signed(values, limit)
    else:
        codes = encode_positive(np.nan_to_num(values), limit, np.zeros((1, 1), bool))
        codes[np.isnan(values)] = 255
    order = found.order()[: chosen.finder_top or FIRST]
    return head_grid(
        codes,
        selected=chosen.heads or (),
        epoch=epoch,
        key=key,
        group="finder",
        captions=captions(found),
        marks=_marks(order, found.values.shape),
        largest=PITCH,
        kind="signed" if found.signed else "positive",
        legend_title=f"{SCORES[found.score].title} ({found.unit})",
        legend_limit=limit,
    )


def _map(found: Found, chosen: Selection) -> None:
    clicked = draw_map(found, chosen, selection.epoch(), selection.widget_key("finder"))
    if clicked != (chosen.heads or ()):
        selection.update(heads=clicked)
    st.caption("Numbered: the first by this score. Click heads to choose them for the attention page.")
    names = ", ".join(name(head) for head in clicked[:4]) + ("…" if len(clicked) > 4 else "")
    st.button(
        f"See what {names} look{'s' if len(clicked) == 1 else ''} at"
        if clicked
        else "Choose a head to see where it looks",
        disabled=not clicked,
        on_click=lambda: selection.ask(selection.current(), SHOWS_HEADS),
        key=selection.widget_key("finder_open"),
    )


def captions(found: Found) -> list[list[str]]:
    """What is known of each head, in a line."""
    n_layers, n_heads = found.values.shape
    return [[caption(found, (layer, head)) for head in range(n_heads)] for layer in range(n_layers)]


def caption(found: Found, head: Head) -> str:
    """A head's score with its interval and rank, and its label."""
    value, low, high = (float(each[head]) for each in (found.values, found.low, found.high))
    if np.isnan(value):
        return found.label(head) or "no such token"
    interval = "" if np.isnan(low) else f" ({low:.2f} to {high:.2f})"
    return " · ".join(
        filter(None, (f"{value:.2f}{interval}", f"{found.ranks[head]} of {found.n_ranked}", found.label(head)))
    )


def _marks(order: Sequence[Head], shape: tuple[int, ...]) -> list[list[str]]:
    marks = [[""] * shape[1] for _ in range(shape[0])]
    for rank, (layer, head) in enumerate(order, start=1):
        marks[layer][head] = str(rank)
    return marks


def _table(found: Found, chosen: Selection) -> None:
    columns = table(found, chosen.finder_top or FIRST)
    score = SCORES[found.score].title
    number = {each: st.column_config.NumberColumn(each, format="%.3f") for each in (score, "95% from", "95% to")}
    changes = [f"{done} (nats)" for done in ABLATIONS.values()]
    effects = {each: st.column_config.NumberColumn(each, format="%+.3f", help=TERMS["effect"]) for each in changes}
    st.dataframe(
        columns,
        column_config={
            "head": st.column_config.TextColumn("head", pinned=True),
            "rank": st.column_config.NumberColumn("rank", format=f"%d of {found.n_ranked}"),
            "label": st.column_config.TextColumn("label", help=TERMS["head_label"], width=140),
            "evidence": st.column_config.TextColumn("evidence", width="large"),
            **number,
            **effects,
        },
        hide_index=True,
        placeholder="–",
        key=selection.widget_key("finder_table"),
        alt="The first heads by the score, with interval, rank, label and what supports it",
    )
