"""Writing a token at a time: what each was drawn from, where the heads looked, and another way to go on."""

import streamlit as st

from headlight.app import selection
from headlight.app.glossary import TERMS
from headlight.app.pages.generate import charts as own
from headlight.app.pages.generate import figures as numbers
from headlight.app.pages.generate import generation, heads, options, steps
from headlight.app.parts import charts
from headlight.app.parts.parts import title_row
from headlight.model.comparison import Comparison
from headlight.model.decoding.compared import Continuations
from headlight.model.errors import HeadlightError


def needs(shown: Comparison) -> str:
    """What keeps the models from writing."""
    for run in shown.runs:
        cfg, called = run.cfg, run.source.name
        if cfg.attention_dir != "causal":
            return f"{called} reads in both directions, so it cannot write on. Open a left-to-right model."
        if cfg.d_vocab_out != cfg.d_vocab:
            return f"{called} gives {cfg.d_vocab_out:,} classes, not tokens, so it cannot write. Open a language model."
    counts = [f"{run.cfg.d_vocab:,}" for run in shown.runs]
    if len(set(counts)) > 1:
        return f"A gives {counts[0]} tokens a probability and B {counts[1]}: choose as model B one with as many."
    return ""


def render(shown: Comparison) -> None:
    """The options, the written tokens with the bars of one step, and the heads at the position that wrote it."""
    with title_row("Generate", "generate"):
        options.draw(shown)
    try:
        with st.spinner("Writing…", show_time=True):
            steps.take_click(shown)
            found = generation.both(shown, selection.current())
    except HeadlightError:
        steps.start_over()  # what was kept may be what is refused
        raise
    if not found.a.labels:
        st.info("The prompt fills the model's context, so nothing can be written behind it. Shorten the prompt.")
        return
    table = selection.current().table
    if table:
        numbers.draw(found)
    else:
        steps.bars(found, selection.current())
    if found.b is not None:
        _say_what_is_compared(shown, found)
    steps.how_it_ended(found)
    steps.change(found)
    heads.title(found)
    if table:
        numbers.draw_heads(found)
    else:
        heads.draw(found)
        charts.draw(own.rows(found), "How likely each written token was, and the entropy, step by step")


def _say_what_is_compared(shown: Comparison, found: Continuations) -> None:
    """Which text each of the two follows at a step."""
    assert shown.b is not None  # asked before
    if found.b is not found.own:
        said = "At every step A and B have the same written text behind their prompts: B is made to write A's tokens."
        said += " What B writes by itself with the same seed stands under it."
    elif (first := found.first_difference) is None:
        said = "B writes by itself, with the same seed as A, and writes the same tokens."
    else:
        said = f"B writes by itself, with the same seed as A. At step {first + 1} the texts part: "
        said += "after that A and B follow different texts."
    if found.n_compared < len(found.a.labels):
        said += f" Only the first {found.n_compared} steps are in both."
    if shown.b.edits:
        said += " The edits act while writing too; what they take from another prompt stays at the prompt's places."
    st.caption(said, help=TERMS["apart"])
