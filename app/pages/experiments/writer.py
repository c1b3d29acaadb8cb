"""Write a set from a template: a form with the prompt, its slots and their values."""

import streamlit as st

from headlight.app import selection
from headlight.app.pages.experiments import sets
from headlight.app.runs import prompt_sets
from headlight.app.server import boundary
from headlight.model.base.errors import InputError
from headlight.model.prompt_sets.templates import PromptTemplate

TEXT = "When {A} and {B} went to the {place}, {B} gave a {thing} to"
CORRUPTED = "When {A} and {B} went to the {place}, {A} gave a {thing} to"
VALUES = (
    "A: Mary, Anna, Sarah, Alice, Emma, Laura\n"
    "B: John, Tom, James, Paul, Mark, Peter\n"
    "place: store, park, school, station\n"
    "thing: book, drink, ring, letter"
)
MAX_WRITTEN = 1_000  # rows
FIELDS = {
    "template": ("Prompt, with slots in braces", TEXT),
    "corrupted": ("Corrupted prompt, of the same slots (empty for none)", CORRUPTED),
    "answers": ("Answer, with its space; | parts several", " {A}"),
    "wrong": ("Wrong answer", " {B}"),
    "values": ("Values of each slot, a line each", VALUES),
}


def draw(model: str, is_first: bool) -> None:
    """The form, which makes a set of this session; where that is the first thing to do its button says so."""
    place = st.popover("Write a set", type="primary" if is_first else "secondary", key="headlight-set-writer")
    with place, st.form("headlight-set-form", border=False):
        keys = {name: selection.widget_key(f"set_form.{name}") for name in (*FIELDS, "name", "count")}
        for name, (label, default) in FIELDS.items():
            kind = st.text_area if name in ("template", "corrupted", "values") else st.text_input
            kind(label, default, key=keys[name])
        left, right = st.columns(2)
        left.text_input("Name of the set", "written", key=keys["name"])
        right.number_input("Rows", 1, MAX_WRITTEN, 20, key=keys["count"])
        st.caption("Values whose numbers of tokens differ from the others', or that are no single token, are left out.")
        st.form_submit_button("Write the set", type="primary", on_click=lambda: _take(keys, model))


def _take(keys: dict[str, str], model: str) -> None:
    inputs = {name: st.session_state[key] for name, key in keys.items()}
    with boundary.guard(lambda reason: sets.refuse(f"Could not write the set. {reason}")):
        template = PromptTemplate(
            inputs["template"],
            inputs["corrupted"],
            (inputs["answers"],) if inputs["answers"].strip() else (),
            (inputs["wrong"],) if inputs["wrong"].strip() else (),
            values_of(inputs["values"]),
        )
        sets.take(prompt_sets.write_set(model, template, inputs["name"].strip() or "written", int(inputs["count"])))


def values_of(text: str) -> dict[str, tuple[str, ...]]:
    """The values of each slot, of lines such as "A: Mary, Tom".

    Raises:
        InputError: a line has no name before a colon, or a slot comes twice.
    """
    values: dict[str, tuple[str, ...]] = {}
    for line in filter(str.strip, text.splitlines()):
        slot, colon, listed = line.partition(":")
        if not colon or not slot.strip():
            raise InputError(f"The line {line!r} names no slot. Write the slot, a colon and its values: A: Mary, Tom.")
        if slot.strip() in values:
            raise InputError(f"The slot {{{slot.strip()}}} has two lines of values. Put them into one.")
        values[slot.strip()] = tuple(value for each in listed.split(",") if (value := each.strip()))
    return values
