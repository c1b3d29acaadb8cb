"""Where the heads looked while writing, in A, in B and by how much B differs."""

import streamlit as st

from headlight.app import selection
from headlight.app.components import Pin, heads, token_strip
from headlight.app.pages.generate.steps import key
from headlight.app.pages.generate.written import axis, heads_of, panel, step_of, token_axis
from headlight.app.parts import grid, options
from headlight.app.parts.parts import heading
from headlight.app.runs import thumbnails
from headlight.model.decoding.compared import Continuations
from headlight.model.edits import Head
from headlight.model.fields import How


def title(found: Continuations) -> None:
    """What the pinned row is."""
    heading("Where the heads looked", "attention", "head")
    step = step_of(found, selection.current())
    place = found.place(step)
    writer = "the model" if found.b is None else "A"
    st.text(
        f"The pinned row is place {place}, “{found.shown.labels[place]}”: there {writer} wrote "
        f"“{found.a.labels[step]}”, which then stands at place {place + 1}."
    )


def draw(found: Continuations, group: str) -> None:
    """The strip of tokens, the grid of all heads and the chosen ones."""
    all_heads, strip, large = grid.places(found.b is not None)
    with all_heads:
        chosen = _grid(found, group)
    with large:
        if not chosen:
            grid.say_none_is_chosen()
            return
        panels = [panel(found, head) for head in chosen]
        heads(
            panels,
            token_axis(found),
            pinned=Pin((found.place(step_of(found, selection.current())),), ()),
            epoch=selection.epoch(),
            key=key("heads"),
            group=group,
            scale=selection.current().scale,
            own_scale=selection.current().own_scale,
        )
    with strip:
        token_strip(token_axis(found), panels[0], key=key("strip"), group=group, scale=selection.current().scale)


def _grid(found: Continuations, group: str) -> tuple[Head, ...]:
    if found.b is not None:
        options.row(grid.side_option(True), name="grid")
    before, side = heads_of(found, selection.current()), grid.side_of(found.b is not None)
    pictures = found.shown.keep(
        ("writing", side),
        lambda: grid.pictures(thumbnails.thumbnails(found.shown, side, How(), axis(found))),
    )
    chosen = grid.draw(pictures, "attention weight", found.b is not None, before, "generate_grid", group)
    if chosen != before:
        selection.update(heads=chosen)
    return chosen
