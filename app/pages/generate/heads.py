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


def title(found: Continuations) -> None:
    """What the pinned row is."""
    heading("Where the heads looked", "attention", "head")
    step = step_of(found, selection.current())
    place = found.place(step)
    writer = "the model" if found.b is None else "A"
    st.text(
        f"The pinned row is place {place}, “{found.comparison.labels[place]}”: there {writer} wrote "
        f"“{found.a.labels[step]}”, which then stands at place {place + 1}."
    )


def draw(found: Continuations) -> None:
    """The strip of tokens, the grid of all heads and the chosen ones."""
    all_heads, strip, large = grid.places(found.b is not None)
    now = selection.current()
    with all_heads:
        chosen = _grid(found)
    with large:
        if not chosen:
            grid.say_none_is_chosen()
            return
        panels = [panel(found, head) for head in chosen]
        draw_large(found, panels, now, selection.epoch(), key("heads"))
    with strip:
        draw_strip(found, panels, now, key("strip"))


def draw_large(found: Continuations, panels: Sequence[HeadPanel], chosen: Selection, epoch: int, key: str) -> None:
    """The chosen heads, with the row pinned where the step's token was written."""
    heads(
        panels,
        token_axis(found),
        pinned=Pin((found.place(step_of(found, chosen)),), ()),
        epoch=epoch,
        key=key,
        group=GROUP,
        scale=chosen.scale,
        own_scale=chosen.own_scale,
    )


def draw_strip(found: Continuations, panels: Sequence[HeadPanel], chosen: Selection, key: str) -> None:
    """The tokens, with where the first of the chosen heads looks."""
    token_strip(token_axis(found), panels[0], key=key, group=GROUP, scale=chosen.scale)


def _grid(found: Continuations) -> tuple[Head, ...]:
    if found.b is not None:
        options.row(grid.side_option(True), name="grid")
    before, side = heads_of(found, selection.current()), grid.side_of(found.b is not None)
    pictures = found.comparison.keep(
        ("writing", side),
        lambda: grid.pictures(thumbnails.thumbnails(found.comparison, side, How(), axis(found))),
    )
    chosen = grid.draw(pictures, "attention weight", found.b is not None, before, "generate_grid", GROUP)
    if chosen != before:
        selection.update(heads=chosen)
    return chosen
