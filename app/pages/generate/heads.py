"""Attention while generating while writing, in A, in B and by how much B differs."""

from collections.abc import Sequence

import streamlit as st

from headlight.app import selection
from headlight.app.components import HeadPanel, HeadPanels, Pin, TokenStrip, heads, token_strip
from headlight.app.pages.generate.steps import key
from headlight.app.pages.generate.written import GROUP, axis, heads_of, panel, step_of, token_axis
from headlight.app.parts import grid, options
from headlight.app.parts.labels import quoted
from headlight.app.parts.parts import heading
from headlight.app.runs import thumbnails
from headlight.app.selection.chosen import Selection
from headlight.model.attention.fields import How
from headlight.model.decoding.compared import Continuations
from headlight.model.runs.edits import Head


def title(continuations: Continuations) -> None:
    """Name of the pinned row."""
    heading("Attention while generating", "attention", "head")
    step = step_of(continuations, selection.current())
    place = continuations.place(step)
    writer = "the model" if continuations.b is None else "A"
    st.text(
        f"Query: position {place} {quoted(continuations.comparison.labels[place], place)}, where {writer} generated "
        f"{quoted(continuations.a.labels[step])} (position {place + 1})."
    )


def draw(continuations: Continuations) -> None:
    """The strip of tokens, the grid of all heads and the chosen ones."""
    shape = continuations.comparison.n_layers, continuations.comparison.n_heads
    strip, _, all_heads, beside = grid.places(continuations.b is not None, shape)
    now = selection.current()
    with all_heads:
        chosen = _grid(continuations)
    with beside:
        if not chosen:
            grid.say_none_is_chosen()
            return
        panels = [panel(continuations, head) for head in chosen]
        drawn, pin = large(continuations, panels, now)
        heads(drawn, pinned=pin, epoch=selection.epoch(), key=key("heads"), group=GROUP)
    with strip:
        token_strip(tokens(continuations, panels, now), key=key("strip"), group=GROUP)


def large(continuations: Continuations, panels: Sequence[HeadPanel], chosen: Selection) -> tuple[HeadPanels, Pin]:
    """The chosen heads, and the row where the step's token was written, to be pinned."""
    drawn = HeadPanels(panels, token_axis(continuations), scale=chosen.scale, own_scale=chosen.own_scale)
    return drawn, Pin((continuations.place(step_of(continuations, chosen)),), ())


def tokens(continuations: Continuations, panels: Sequence[HeadPanel], chosen: Selection) -> TokenStrip:
    """The tokens, with where the first of the chosen heads looks."""
    turns = continuations.comparison.turns
    return TokenStrip(token_axis(continuations), panels[0], scale=chosen.scale, turns=turns)


def _grid(continuations: Continuations) -> tuple[Head, ...]:
    if continuations.b is not None:
        options.row(grid.side_option(True), name="grid")
    before, side = heads_of(continuations, selection.current()), grid.side_of(continuations.b is not None)
    pictures = continuations.comparison.keep(
        ("writing", side),
        lambda: grid.pictures(thumbnails.thumbnails(continuations.comparison, side, How(), axis(continuations))),
    )
    chosen = grid.draw(pictures, "attention weight", continuations.b is not None, before, "generate_grid", GROUP)
    if chosen != before:
        selection.update(heads=chosen)
    return chosen
