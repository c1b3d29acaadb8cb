"""One line with the model and the input, and behind it how far to trust the numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.app import selection
from headlight.app.components import Link
from headlight.app.frame import special_tokens, token_outputs, trust
from headlight.app.parts import options
from headlight.app.parts.labels import percent, quoted
from headlight.app.parts.pair import typeable
from headlight.app.selection import widget_key
from headlight.model.base.source import Source
from headlight.model.measure.best import best
from headlight.model.measure.likelihood import probabilities
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import describe
from headlight.model.runs.outputs import answer_of
from headlight.model.runs.run import Run
from headlight.model.text.chat import is_begun

MAX_NAMED, MAX_LIKELY = 2, 3  # edits, and next tokens
MAX_LABEL = 30  # characters of a label, of which some are sentences
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
            if side == "A" and run.cfg.output != "none":
                _ask_why()
            details(side, partial(trust.draw, run, side))
    special_tokens.draw(comparison)


def names(sources: Sequence[Source]) -> list[str]:
    """Name of each model in its line: the end of a path, unless another model's path has the same end."""
    whole, short = [source.name for source in sources], [source.short_name for source in sources]
    return short if len(set(short)) == len(set(whole)) else whole


def _texts(run: Run) -> str:
    """Number of text segments of the model's input, and how to enter two."""
    if run.token_types is None:
        return ""
    separator = run.tokenizer.labels([run.tokenizer.separator or 0])[0]
    return " in two texts" if any(run.token_types) else f" in one text (a typed {separator} begins a second)"


def line(side: str) -> DeltaGenerator:
    """Line of a side, with the model and its input."""
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
    """List of the edits, or their number where the list would not fit the line."""
    return f"{len(run.edits)} edits" if len(run.edits) > MAX_NAMED else ", ".join(map(describe, run.edits))


def _which_token(run: Run) -> str:
    """Subject of the prediction: the next token, a token of the input, or the label of the text."""
    here = run.labels[run.prediction_position]
    match run.cfg.output:
        case "labels":
            return "labels" if run.cfg.multi_label else "label"
        case "token labels":
            return f"label of {here}"
        case "answer span":
            return "answer"
    return f"token for {here}" if run.cfg.is_masked else "next token"


def _draw_prediction(run: Run, side: str) -> None:
    """Most likely outputs with their probabilities; each leads to its sources. Behind them those of all tokens."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"headlight-prediction{side}"):
        if run.cfg.output == "none":
            st.text("no language-model head: its output is its last hidden state", width="content")
            return
        st.text(f"{_which_token(run)}:", width="content")
        links = [
            _link(run, each, f"predicted_{side}_{slot}")
            for slot, each in enumerate(run.keep("next tokens", partial(_predictions, run)))
        ]
        options.row(*links, name=f"predicted{side}", whole=True)
        token_outputs.draw(run, side)


@dataclass(frozen=True)
class _Prediction:
    """Output, its name with its probability, and its position where that is not the usual one."""

    output: int
    label: str
    position: int | None = None


def shortened(label: str) -> str:
    """A label that keeps the line to a line."""
    return label if len(label) <= MAX_LABEL else f"{label[: MAX_LABEL - 1]}…"


def _predictions(run: Run) -> list[_Prediction]:
    """The likeliest outputs."""
    if run.cfg.output == "answer span":
        answer = answer_of(run)
        ends = enumerate(zip((answer.start, answer.end), (answer.start_logit, answer.end_logit), strict=True))
        names = run.label_names
        return [
            _Prediction(output, f"{names[output]} {quoted(run.labels[at], at)} {logit:.2f}", at)
            for output, (at, logit) in ends
        ]
    if run.cfg.has_one_output:
        return [_Prediction(0, f"{quoted(shortened(run.label_names[0]))} {float(run.next_logits[0]):.3f}")]
    top = best(probabilities(run.next_logits, run.cfg.multi_label), MAX_LIKELY)
    named = zip(top.indices.tolist(), run.outputs.labels(top.indices), top.values.tolist(), strict=True)
    return [_Prediction(output, f"{quoted(shortened(label))} {percent(share)}") for output, label, share in named]


def _link(run: Run, prediction: _Prediction, name: str) -> Link:
    """Link to an output's sources: it becomes the target, where the prediction is made."""
    text, label = typeable(run, prediction.output), prediction.label

    def explain(_: None) -> None:
        now = selection.current()
        distractor = "" if now.distractor == text else now.distractor
        selection.ask(replace(now, target=text or "", distractor=distractor, position=prediction.position), EXPLAINS)

    help = WHY_HELP if text is not None else "This token has no text of its own to ask about."
    return Link(name, label, None, explain, help, disabled=text is None)
