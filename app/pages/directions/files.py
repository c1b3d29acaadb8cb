"""Files of the page *Directions*: a set of prompts or a direction to open, and the direction to keep and to save."""

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

import streamlit as st

from headlight.app import selection
from headlight.app.frame import notices
from headlight.app.pages.directions.choices import Choices
from headlight.app.pages.directions.direction_view import DirectionView
from headlight.app.parts import columns_form
from headlight.app.parts.markdown import plain
from headlight.app.runs import direction_studies, directions, prompt_sets
from headlight.app.server import boundary
from headlight.model.runs.direction import Direction

REFUSED, UNMATCHED = "directions_refused", "directions_unmatched"
FORMATS = {".safetensors": "safetensors", ".gguf": "GGUF (llama.cpp)", ".json": "json (Neuronpedia)"}


def say_what_was_taken() -> None:
    """Why a file was not opened, once; and the form where its columns have to be matched."""
    if reason := st.session_state.pop(REFUSED, ""):
        notices.refused(reason, "direction_file")
    if (file := st.session_state.get(UNMATCHED)) is not None:
        columns_form.draw(file, _matched)


def draw(view: DirectionView | None) -> None:
    """A popover that opens files, keeps the direction by name and saves it."""
    with st.popover("Open, keep, save", key="headlight-direction-files"):
        _uploader("Labelled prompts", "dir_upload", [each[1:] for each in prompt_sets.SUFFIXES], _take_set)
        _uploader("A direction", "dir_open", [each[1:] for each in FORMATS], _take_direction)
        if view is not None:
            _keeper(view)
        for reason in directions.files().unreadable:
            st.caption(plain(reason))


def choose(name: str) -> None:
    """Look at a set or a direction, with nothing chosen of it."""
    selection.choose(
        Choices, dir_set=name, dir_column="", dir_toward="", dir_away="", dir_position="end", dir_layer=None
    )


def _uploader(label: str, name: str, types: list[str], take: Callable[[str, bytes], None]) -> None:
    key = selection.widget_key(name)

    def heard() -> None:
        if (file := st.session_state[key]) is not None:
            st.session_state.pop(UNMATCHED, None)
            with _refusing(f"Could not open {file.name}."):
                take(file.name, file.getvalue())

    st.file_uploader(plain(label), type=types, key=key, on_change=heard)


def _refusing(said: str) -> AbstractContextManager[None]:
    return boundary.guard(lambda reason: st.session_state.update({REFUSED: f"{said} {reason}"}))


def _take_set(name: str, data: bytes) -> None:
    if columns := prompt_sets.unknown_columns(name, data):
        st.session_state[UNMATCHED] = columns_form.Unmatched(name, data, columns)
    else:
        choose(direction_studies.add_set(name, data))


def _matched(file: columns_form.Unmatched, columns: Mapping[str, str]) -> None:
    with _refusing(f"Could not open {file.name}."):
        choose(direction_studies.add_set(file.name, file.data, prompt_sets.columns_text(columns)))
        del st.session_state[UNMATCHED]


def _take_direction(name: str, data: bytes) -> None:
    choose(directions.keep(direction_studies.read(name, data)))


def _keeper(view: DirectionView) -> None:
    """The name, the buttons that keep the direction by it and remove it, and the files."""
    key, identity = selection.widget_key("dir_name"), view.direction.identity
    name = st.text_input("Name", view.direction.name, key=key, max_chars=80).strip() or view.direction.name
    named = replace(view.direction, name=name)
    with st.container(horizontal=True):
        st.button("Keep by this name", on_click=_save, args=(named,), key=selection.widget_key("dir_keep"))
        if directions.can_remove(identity):
            st.button("Remove it", on_click=_remove, args=(identity,), key=selection.widget_key("dir_remove"))
    st.caption(plain(_where(view.direction)))
    for suffix, label in FORMATS.items():
        own = replace(named, vectors={view.layer: named.vectors[view.layer]}) if suffix == ".json" else named
        if suffix == ".gguf" and max(own.layers) < 2:  # llama.cpp adds nothing before layer 2
            continue
        st.download_button(
            plain(label),
            partial(direction_studies.write, own, suffix),
            directions.file_of(own.identity).removesuffix(".safetensors") + suffix,
            key=selection.widget_key(f"dir_save{suffix}"),
            on_click="ignore",
        )


def _where(direction: Direction) -> str:
    """Where the direction is kept, or would be."""
    if not directions.may_write():
        return "This server keeps it until it ends. Save it as a file as well."
    folder = str(directions.folder()).replace(os.path.expanduser("~"), "~", 1)
    if direction.identity in directions.files().directions:
        return f"It is kept in {folder}."
    return f"It would be kept in “{folder}”, where no other file is written over."


def _save(direction: Direction) -> None:
    with _refusing("The direction was not kept."):
        directions.save(direction)


def _remove(identity: str) -> None:
    with _refusing("The direction was not removed."):
        directions.remove(identity)
        if selection.current().choices_of(Choices).dir_set == identity:
            choose("")
