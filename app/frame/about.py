"""What was run in which model: one line, and what tells how far to trust it behind it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.app import selection
from headlight.app.components import Link
from headlight.app.exports.facts import called
from headlight.app.frame import special_tokens, trust
from headlight.app.parts import options
from headlight.app.parts.labels import percent, quoted
from headlight.app.parts.pair import typeable
from headlight.app.selection import widget_key
from headlight.model.base.source import Source
from headlight.model.measure.best import best
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import describe
from headlight.model.runs.run import Run
from headlight.model.text.chat import is_begun

MAX_NAMED, MAX_LIKELY = 2, 3  # edits, and next tokens
EXPLAINS = "why"  # the page
WHY_HELP = "Which heads and MLPs made this prediction, and why they look where they do."


def draw(comparison: Comparison) -> None:
    """The line above every page's content, one for each run."""
    models = names([run.source for run in comparison.sides.values()])
    for (side, run), model in zip(comparison.sides.items(), models, strict=True):
        with line(side):
            named = "" if comparison.b is None else f"{side}  "
            count = f"{len(run.tokens):,} input token{'s' if len(run.tokens) > 1 else ''}"
            count += _texts(run)
            bos = "in the chat template" if run.bos == "chat" else "with BOS" if is_begun(run.bos) else "without BOS"
            edits = f"{_edits(run)} · " if run.edits else ""
            st.text(f"{named}{model} · {edits}{count} {bos}", width="content")
            _draw_prediction(run, side)
            if side == "A":
                _ask_why()
            details(side, partial(trust.draw, run, side))
    special_tokens.draw(comparison)


def names(sources: Sequence[Source]) -> list[str]:
    """What each model is called in its line: of a path its end, unless that is the end of another's too."""
    whole, short = [source.name for source in sources], list(map(called, sources))
    return short if len(set(short)) == len(set(whole)) else whole


def _texts(run: Run) -> str:
    """How many text segments the model's input has, and how to enter two."""
    if run.token_types is None:
        return ""
    separator = run.tokenizer.labels([run.tokenizer.separator or 0])[0]
    return " in two texts" if any(run.token_types) else f" in one text (a typed {separator} begins a second)"


def line(side: str) -> DeltaGenerator:
    """The line of a side, which says what was run in which model."""
    return st.container(horizontal=True, vertical_alignment="center", key=f"headlight-fed{side}")


def details(side: str, draw: Callable[[], None]) -> None:
    """A button that opens details of a side's model."""
    place = st.popover("About this model", type="tertiary", key=widget_key(f"about{side}"), on_change="rerun")
    if place.open:  # the hash reads the whole file, so not before somebody looks
        with place:
            draw()


def _ask_why() -> None:
    st.button(
        "Why?",
        type="tertiary",
        help=WHY_HELP,
        key=selection.widget_key("ask_why"),
        on_click=selection.turn_to,
        args=(EXPLAINS,),
    )


def _edits(run: Run) -> str:
    """Which edits were made, or how many where they would not fit the line."""
    return f"{len(run.edits)} edits" if len(run.edits) > MAX_NAMED else ", ".join(map(describe, run.edits))


def _which_token(run: Run) -> str:
    """Of which token the model tells what is likely: the next one, or one that it has read."""
    return f"token for {run.labels[run.prediction_position]}" if run.cfg.mlm_act_fn else "next token"


def _draw_prediction(run: Run, side: str) -> None:
    """The likeliest tokens with their probabilities; each leads to what made it."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"headlight-prediction{side}"):
        st.text(f"{_which_token(run)}:", width="content")
        links = [
            _link(run, token, f"{quoted(label)} {percent(share)}", f"predicted_{side}_{slot}")
            for slot, (token, label, share) in enumerate(run.keep("next tokens", partial(_next_tokens, run)))
        ]
        options.row(*links, name=f"predicted{side}", whole=True)


def _next_tokens(run: Run) -> list[tuple[int, str, float]]:
    """The likeliest tokens, their labels and their probabilities."""
    top = best(run.next_logits.softmax(-1), MAX_LIKELY)
    tokens = top.indices.tolist()
    return list(zip(tokens, run.tokenizer.labels(tokens), top.values.tolist(), strict=True))


def _link(run: Run, token: int, label: str, name: str) -> Link:
    """Link to what made a token likely: it becomes the target, where the prediction is made."""
    text = typeable(run, token)

    def explain(_: None) -> None:
        now = selection.current()
        distractor = "" if now.distractor == text else now.distractor
        selection.ask(replace(now, target=text or "", distractor=distractor, position=None), EXPLAINS)

    help = WHY_HELP if text is not None else "This token has no text of its own to ask about."
    return Link(name, label, None, explain, help, disabled=text is None)
