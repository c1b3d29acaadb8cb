"""Where the heads looked while writing, in A, in B and by how much B differs."""

from collections.abc import Sequence

import streamlit as st

from headlight.app import selection
from headlight.app.components import HeadPanel, Pin, heads, token_strip
from headlight.app.pages.generate.steps import key
from headlight.app.pages.generate.written import GROUP, axis, heads_of, panel, step_of, token_axis
from headlight.app.parts import grid, options
from headlight.app.parts.parts import heading
from headlight.app.runs import thumbnails
from headlight.app.selection.chosen import Selection
from headlight.model.attention.fields import How
from headlight.model.decoding.compared import Continuations
from headlight.model.runs.edits import Head


def title(continuations: Continuations) -> None:
    """What the pinned row is."""
    heading("Where the heads looked", "attention", "head")
    step = step_of(continuations, selection.current())
    place = continuations.place(step)
    writer = "the model" if continuations.b is None else "A"
    st.text(
        f"The pinned row is place {place}, “{continuations.comparison.labels[place]}”: there {writer} wrote "
        f"“{continuations.a.labels[step]}”, which then stands at place {place + 1}."
    )


def draw(continuations: Continuations) -> None:
    """The strip of tokens, the grid of all heads and the chosen ones."""
    all_heads, strip, large = grid.places(continuations.b is not None)
    now = selection.current()
    with all_heads:
        chosen = _grid(continuations)
    with large:
        if not chosen:
            grid.say_none_is_chosen()
            return
        panels = [panel(continuations, head) for head in chosen]
        draw_large(continuations, panels, now, selection.epoch(), key("heads"))
    with strip:
        draw_strip(continuations, panels, now, key("strip"))


def draw_large(
    continuations: Continuations, panels: Sequence[HeadPanel], chosen: Selection, epoch: int, key: str
) -> None:
    """The chosen heads, with the row pinned where the step's token was written."""
    heads(
        panels,
        token_axis(continuations),
        pinned=Pin((continuations.place(step_of(continuations, chosen)),), ()),
        epoch=epoch,
        key=key,
        group=GROUP,
        scale=chosen.scale,
        own_scale=chosen.own_scale,
    )


def draw_strip(continuations: Continuations, panels: Sequence[HeadPanel], chosen: Selection, key: str) -> None:
    """The tokens, with where the first of the chosen heads looks."""
    token_strip(token_axis(continuations), panels[0], key=key, group=GROUP, scale=chosen.scale)


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
