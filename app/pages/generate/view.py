"""Generation token by token: the distributions, the heads' attention, and alternative continuations."""

from typing import Any

import streamlit as st

from headlight.app import selection
from headlight.app.components import Button, Choice, Number, Slider, Switch
from headlight.app.glossary import TERMS
from headlight.app.pages.generate import charts as own
from headlight.app.pages.generate import figures as numbers
from headlight.app.pages.generate import generation, heads, steps, stream
from headlight.app.pages.generate.choices import LEAST_TOP_P, MAX_NEW, MAX_TEMPERATURE, Choices
from headlight.app.parts import charts, options
from headlight.app.parts.markdown import plain
from headlight.app.parts.needs import outputs_of
from headlight.app.parts.parts import title_row
from headlight.model.base.errors import HeadlightError
from headlight.model.decoding.compared import Continuations
from headlight.model.runs.comparison import Comparison

MAX_NUMBER = 999_999  # that a link holds
B_WRITES = {"same": "A's tokens", "own": "its own tokens"}


def needs(comparison: Comparison) -> str:
    """Reason why the models cannot generate."""
    for run in comparison.runs:
        cfg, called = run.cfg, run.source.name
        if cfg.attention_dir != "causal":
            return f"{called} attends in both directions, so it cannot generate text. Open a left-to-right model."
        if said := outputs_of(run):
            return f"{said}, so it cannot generate text. Open a language model."
    counts = [f"{run.cfg.d_vocab:,}" for run in comparison.runs]
    if len(set(counts)) > 1:
        return f"A gives {counts[0]} tokens a probability and B {counts[1]}: choose as model B one with as many."
    return ""


def render(comparison: Comparison) -> None:
    """The options, the written tokens with the bars of one step, and the heads at the position that wrote it."""
    with title_row("Generate", "generate", level=1):
        _options(comparison)
    try:
        steps.take_click(comparison)
        stream.draw(comparison)
        with st.spinner("Generating…", show_time=True):
            continuations = generation.both(comparison, selection.current())
    except HeadlightError:
        steps.start_over()  # what was kept may be what is refused
        raise
    if not continuations.a.labels:
        st.info("The prompt fills the model's context, so there is no room to generate. Shorten the prompt.")
        return
    table = selection.current().table
    if table:
        numbers.draw(continuations)
    else:
        steps.bars(continuations, selection.current())
    if continuations.b is not None:
        _say_what_is_compared(comparison, continuations)
    steps.how_it_ended(continuations)
    steps.change(continuations)
    heads.title(continuations)
    if table:
        numbers.draw_heads(continuations)
    else:
        heads.draw(continuations)
        charts.draw(own.rows(continuations), "Probability of each generated token and entropy, by step")


def _options(comparison: Comparison) -> None:
    """Sampling options and run B's continuation; a change of any generates anew."""
    reads_end = bool(comparison.a.model.stop_tokens)
    options.row(
        _bind(Choice, "b_writes", "B writes", options=B_WRITES) if comparison.b is not None else None,
        _bind(Number, "n_new", "New tokens", least=1, most=MAX_NEW, width=90),
        _bind(Slider, "temperature", "Temperature", least=0.0, most=MAX_TEMPERATURE, step=0.05),
        _bind(Number, "top_k", "Top-k", least=1, most=MAX_NUMBER, placeholder="off", width=90, folded=True),
        _bind(Slider, "top_p", "Top-p", least=LEAST_TOP_P, most=1.0, step=0.01, folded=True),
        _bind(Number, "seed", "Seed", least=0, most=MAX_NUMBER, width=110, folded=True),
        _reroll(),
        _bind(Switch, "stop", "Stop at end of text", folded=True) if reads_end else None,
        options.as_tables(),
    )


def _bind(kind: type[options.Kind], field: str, label: str, **look: Any) -> options.Kind:
    """Option whose change generates the text anew."""
    return options.bind(kind, field, label, page=Choices, change=selection.choose, **look)


def _reroll() -> Button:
    own = selection.current().choices_of(Choices)

    def next_seed() -> None:
        selection.choose(Choices, seed=(own.seed + 1) % (MAX_NUMBER + 1))

    help = "Use the next seed: other samples from the same distributions. At temperature 0 nothing is sampled."
    return options.button("reroll", "Re-roll", next_seed, help, disabled=own.temperature == 0)


def _say_what_is_compared(comparison: Comparison, continuations: Continuations) -> None:
    """Say which text A and B each continue at a step."""
    assert comparison.b is not None  # the previous settings
    if continuations.b is not continuations.own:
        said = "Teacher forcing: at every step B's prompt is followed by A's generated tokens."
        said += " B's own continuation with the same seed is below."
    elif (first := continuations.first_difference) is None:
        said = "B generates freely with A's seed, and generates the same tokens."
    else:
        said = f"B generates freely with A's seed. The texts differ from step {first + 1} on: "
        said += "after that A and B follow different texts."
    if continuations.n_compared < len(continuations.a.labels):
        said += f" Both have only the first {continuations.n_compared} steps."
    if comparison.b.edits:
        said += (
            " Edits apply while generating too; activations from another prompt are patched at the prompt's "
            "positions only."
        )
    st.caption(plain(said), help=TERMS["apart"])
