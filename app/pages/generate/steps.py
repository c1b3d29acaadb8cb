"""The written tokens with the bars of one step, and other ways to go on from it."""

from dataclasses import replace

import streamlit as st

from headlight.app import selection
from headlight.app.components import TokenBars, clicked, token_bars
from headlight.app.frame import notices
from headlight.app.frame.prompt_bar import FIRST_PAGE
from headlight.app.pages.generate import generation
from headlight.app.pages.generate.choices import MAX_NEW, Choices
from headlight.app.pages.generate.written import GROUP, beside, step_of, steps_of
from headlight.app.parts.markdown import plain
from headlight.app.selection.chosen import Selection
from headlight.model.base.errors import HeadlightError
from headlight.model.decoding.as_prompt import as_prompt, keeps_tokens
from headlight.model.decoding.compared import Continuations
from headlight.model.decoding.continued import Written
from headlight.model.runs.comparison import Comparison

MORE = 100  # tokens at a click
USED = (
    "The prompt with this text behind it, in a chat as the model's turn: attention, lens and Why of any written token."
)

REASONS = {
    "stop token": "The model ended the text with one of its end tokens.",
    "length": "",
    "context": "It stopped because the model's context is full.",
}


def key(part: str) -> str:
    """The key of a component or widget of this page."""
    return selection.widget_key(f"generate_{part}")


def take_click(comparison: Comparison) -> None:
    """Apply a click or an inserted token before anything is drawn from it."""
    own = selection.current().choices_of(Choices)
    step, token = clicked(own.step, selection.epoch(), key("bars"))
    selection.update(Choices, step=step)
    if typed := st.session_state.get(_typed_key()):
        try:
            token = comparison.a.tokenizer.to_single_token(typed)
        except HeadlightError:
            return  # the box says so
    if token is not None:
        _put(generation.continuation_of(comparison.a, own), token)


def _put(continuation: Written, token: int) -> None:
    """Write a token at the step that is looked at, and go on from there."""
    if continuation.labels:
        step = min(selection.current().choices_of(Choices).step, len(continuation.labels) - 1)
        selection.choose(Choices, written=(*continuation.tokens[:step].tolist(), token), step=step)


def described(continuations: Continuations, chosen: Selection) -> TokenBars:
    """Every step, and the tokens that the one looked at chose from, of A and of B."""
    steps = steps_of(continuations)
    return TokenBars(
        continuations.a.run.labels[: continuations.a.n_prompt],
        steps["A"],
        queries=[continuations.place(step) for step in range(len(continuations.a.labels))],
        step=step_of(continuations, chosen),
        beside=None if continuations.b is None else beside(continuations, steps["B"]),
    )


def bars(continuations: Continuations, chosen: Selection) -> None:
    """Every step as a chip, and the bars of the one looked at."""
    token_bars(described(continuations, chosen), epoch=selection.epoch(), key=key("bars"), group=GROUP)


def how_it_ended(continuations: Continuations) -> None:
    """A line where a text ended by itself or for want of room."""
    ends = {"A": continuations.a} if continuations.own is None else {"A": continuations.a, "B": continuations.own}
    for side, each in ends.items():
        if reason := REASONS[each.reason]:
            st.caption(plain(reason if continuations.own is None else f"{side}: {reason}"))


def change(continuations: Continuations) -> None:
    """Replace the token of the selected step, or generate all anew."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="headlight-change"):
        typed = st.text_input(
            "Insert a token here",
            key=_typed_key(),
            placeholder="one token, with its space",
            help="Replaces this step's token and generates on from there. Inside a sentence most tokens begin with a "
            "space: type the space too. A click on a bar does the same. With a run B both texts get it.",
            width=260,
        )
        start_over()
        _go_on(continuations)
        _use_as_prompt(continuations)
    if typed:
        try:
            continuations.a.run.tokenizer.to_single_token(typed)
        except HeadlightError as error:
            notices.refused(str(error), "token")


def start_over() -> None:
    """Take back every token that the user put there."""
    st.button(
        "Start over from the prompt",
        key=key("over"),
        disabled=not selection.current().choices_of(Choices).written,
        on_click=lambda: selection.choose(Choices, written=(), step=0),
    )


def _go_on(continuations: Continuations) -> None:
    """Write more, where the text stopped for its length alone."""
    n_new = selection.current().choices_of(Choices).n_new
    if continuations.a.reason == "length" and n_new < MAX_NEW:
        more = min(MORE, MAX_NEW - n_new)
        st.button(
            plain(f"Write {more} more"),
            key=key("more"),
            on_click=lambda: selection.choose(Choices, n_new=n_new + more),
        )


def _use_as_prompt(continuations: Continuations) -> None:
    """Make the written text part of the prompts, for every page to look at."""
    now, own = selection.current(), continuations.own
    prompt, keeps = continuations.a.run.keep("as prompt", lambda: _as_prompt(continuations.a))

    def use() -> None:
        prompt_b = now.prompt_b if own is None or now.prompt_b is None else as_prompt(own)
        selection.ask_instead(replace(now, prompt=prompt, prompt_b=prompt_b, bos=continuations.a.run.bos), FIRST_PAGE)

    st.button(
        "Use as prompt",
        key=key("as_prompt"),
        on_click=use,
        help=USED + ("" if keeps else " The tokenizer parts the text otherwise than the model wrote it."),
    )


def _as_prompt(written: Written) -> tuple[str, bool]:
    return as_prompt(written), keeps_tokens(written)


def _typed_key() -> str:
    """Key of one epoch's text field, which is empty again after a token was inserted."""
    return key(f"typed{selection.epoch()}")
