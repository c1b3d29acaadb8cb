"""Writing a token at a time: what each was drawn from, where the heads looked, and another way to go on."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from app import generation, notices, selection
from app.components import (
    Pin,
    TokenChoice,
    clicked,
    encode_thumbnails,
    head_grid,
    heads,
    token_bars,
    token_strip,
)
from app.fields import attention_of
from app.generation import Written
from app.glossary import TERMS
from app.run import Run
from app.selection.chosen import LEAST_TOP_P, MOST_NEW, MOST_TEMPERATURE, Head
from app.shown import Shown
from app.views import tables
from app.views.head_tables import name
from app.views.parts import heading
from app.views.sides import as_tables
from app.views.written import axis, heads_of, panel, step_of, steps_of
from model.errors import HeadlightError

GROUP = "generated"
LARGEST = 999_999  # that a link holds
REASONS = {
    "stop token": "It ended the text by itself.",
    "length": "",
    "context": "It stopped because the model's context is full.",
}


def needs(shown: Shown) -> str:
    """What keeps the model of A from writing."""
    cfg, called = shown.a.cfg, shown.a.source.name
    if cfg.attention_dir != "causal":
        return f"{called} reads in both directions, so it cannot write on from a prompt. Open a left-to-right model."
    if cfg.d_vocab_out != cfg.d_vocab:
        return f"{called} gives {cfg.d_vocab_out:,} classes, not tokens, so it cannot write. Open a language model."
    return ""


def render(shown: Shown) -> None:
    """The options, the written tokens with the bars of one step, and the heads at the position that wrote it."""
    heading("Generate", "generate")
    if shown.b is not None:
        b = "Edits are left out." if shown.b.edits else "To see what follows B, press Swap A and B."
        st.caption(f"This page goes on from prompt A alone. {b}")
    _options(shown.a)
    try:
        with st.spinner("Writing…", show_time=True):
            _take_click(shown.a)
            found = generation.of(shown.a, selection.current())
    except HeadlightError:
        _start_over()  # what was kept may be what is refused
        raise
    if not found.labels:
        st.info("The prompt fills the model's context, so nothing can be written behind it. Shorten the prompt.")
        return
    step = step_of(found, selection.current())
    if selection.current().table:
        _tables(found, step)
    else:
        _bars(found, step)
    _change(found)
    _attention(found, step)


def _options(run: Run) -> None:
    now = selection.current()
    with st.container(horizontal=True, vertical_alignment="bottom", key="headlight-options"):
        _slider("n_new", "New tokens", 1, MOST_NEW, 1)
        _slider("temperature", "Temperature", 0.0, MOST_TEMPERATURE, 0.05)
        st.number_input(
            "Top-k",
            min_value=1,
            max_value=LARGEST,
            value=None,
            placeholder="off",
            help=TERMS["top_k"],
            width=110,
            **_field("top_k"),
        )
        _slider("top_p", "Top-p", LEAST_TOP_P, 1.0, 0.01)
        st.number_input("Seed", min_value=0, max_value=LARGEST, step=1, help=TERMS["seed"], width=130, **_field("seed"))
        st.button(
            "Re-roll",
            icon=":material/casino:",
            key=selection.widget_key("reroll"),
            help="The next seed: other tokens from the same distributions. At temperature 0 nothing is drawn.",
            disabled=now.temperature == 0,
            on_click=lambda: selection.choose(seed=(selection.current().seed + 1) % (LARGEST + 1)),
        )
        if generation.end_of_text(run.tokenizer) is not None:
            st.toggle("Stop at the text's end", help=TERMS["stop"], **_field("stop"))
        as_tables()


def _field(field: str) -> dict[str, Any]:
    """A widget's tie to a field with which all is written anew."""
    value = getattr(selection.current(), field)
    return selection.tie(field, value, lambda chosen: selection.choose(**{field: chosen}))


def _slider(field: str, label: str, low: float, high: float, step: float) -> None:
    st.slider(label, low, high, step=step, help=TERMS[field], width=150, **_field(field))


def _take_click(run: Run) -> None:
    """What was clicked or typed, before anything is drawn from it."""
    before = generation.of(run, selection.current())
    if not before.labels:
        return
    now = selection.current()
    step, token = clicked(now.step, selection.epoch(), _key("bars"))
    selection.update(step=step)
    if typed := st.session_state.get(_typed_key()):
        try:
            token = run.tokenizer.to_single_token(typed)
        except HeadlightError:
            return  # the box says so
    if token is not None:
        _put(before, token)


def _put(found: Written, token: int) -> None:
    """Write a token at the step that is looked at, and go on from there."""
    step = step_of(found, selection.current())
    selection.choose(written=(*found.tokens[:step].tolist(), token), step=step)


def _key(part: str) -> str:
    return selection.widget_key(f"generate_{part}")


def _typed_key() -> str:
    """The box of one epoch: what was written from it leaves it empty."""
    return _key(f"typed{selection.epoch()}")


def _bars(found: Written, step: int) -> None:
    token_bars(
        found.run.labels[: found.n_prompt],
        steps_of(found),
        step=step,
        epoch=selection.epoch(),
        key=_key("bars"),
        group=GROUP,
    )


def _change(found: Written) -> None:
    """What ended the text, and other ways to go on."""
    if reason := REASONS[found.reason]:
        st.caption(reason)
    with st.container(horizontal=True, vertical_alignment="bottom", key="headlight-change"):
        typed = st.text_input(
            "Write another token here",
            key=_typed_key(),
            placeholder="one token, with its space",
            help="Replaces the token of this step and goes on from there. Inside a sentence most tokens begin with a "
            "space: type the space too. A click on a bar does the same.",
            width=260,
        )
        _start_over()
    if typed:
        try:
            found.run.tokenizer.to_single_token(typed)
        except HeadlightError as error:
            notices.refused(str(error), "token")


def _start_over() -> None:
    st.button(
        "Start over from the prompt",
        key=_key("over"),
        disabled=not selection.current().written,
        on_click=lambda: selection.choose(written=(), step=0),
    )


def _attention(found: Written, step: int) -> None:
    query = found.query(step)
    heading("Where the heads looked", "attention", "head")
    st.text(
        f"The pinned row is place {query}, “{found.run.labels[query]}”: there the model wrote “{found.labels[step]}”, "
        f"which then stands at place {query + 1}."
    )
    if selection.current().table:
        _weights(found, heads_of(found, selection.current()), query)
        return
    strip = st.container()
    left, right = st.columns([2, 3], gap="large")
    with left:
        chosen = _grid(found)
    with right:
        if not chosen:
            st.info("No head is chosen. Click one in the grid to see its pattern here.")
            return
        shown = [panel(found, head) for head in chosen]
        heads(
            shown,
            axis(found),
            pinned=Pin((query,), ()),
            epoch=selection.epoch(),
            key=_key("heads"),
            group=GROUP,
            scale=selection.current().scale,
            own_scale=selection.current().own_scale,
        )
    with strip:
        token_strip(axis(found), shown[0], key=_key("strip"), group=GROUP, scale=selection.current().scale)


def _grid(found: Written) -> tuple[Head, ...]:
    before = heads_of(found, selection.current())
    chosen = head_grid(
        encode_thumbnails(found.run.thumbnails.numpy(), found.run.hidden.numpy()),
        selected=before,
        epoch=selection.epoch(),
        key=_key("grid"),
        group=GROUP,
    )
    if chosen != before:
        selection.update(heads=chosen)
    return chosen


def _tables(found: Written, step: int) -> None:
    """Every step in a row, and the tokens that one of them chose from."""
    n_steps = len(found.labels)
    own, drawn = found.entropies.numpy()
    columns: tables.Columns = {
        "Step": range(1, n_steps + 1),
        "Token": found.labels,
        "Put there by you": [place < found.n_given for place in range(n_steps)],
        "Log-probability (nats)": found.log_probs.numpy(),
        "Entropy (nats)": own,
        "Entropy of what is drawn from (nats)": drawn,
    }
    tables.draw(columns, "Every written token, step by step")
    st.number_input(
        "Step",
        min_value=1,
        max_value=n_steps,
        width=130,
        **selection.tie("step", step + 1, lambda chosen: selection.choose(step=chosen - 1)),
    )
    choices = steps_of(found)[step].choices
    listed: dict[str, Callable[[TokenChoice], Any]] = {
        "Rank": lambda choice: choice.rank,
        "Token": lambda choice: choice.label,
        "Probability": lambda choice: choice.before,
        "Drawn with": lambda choice: choice.after,
    }
    columns = {title: [of(choice) for choice in choices] for title, of in listed.items()}
    tables.draw(columns, "The likeliest tokens of this step, before and after temperature and cuts")


def _weights(found: Written, chosen: tuple[Head, ...], query: int) -> None:
    places = range(query + 1)
    weights = {name(head): attention_of(found.run, head).weights[query, : query + 1].numpy() for head in chosen}
    columns: tables.Columns = {"Place": places, "Token": found.run.labels[: query + 1], **weights}
    tables.draw(columns, "Attention weight of the chosen heads from the pinned place to every place up to it")
