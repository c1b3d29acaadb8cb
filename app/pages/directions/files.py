"""Files of the page *Directions*: a set of prompts or a direction to open, and the direction to save."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import streamlit as st

from headlight.app import selection
from headlight.app.frame import notices
from headlight.app.pages.directions.choices import Choices
from headlight.app.pages.directions.direction_view import DirectionView
from headlight.app.parts.markdown import plain
from headlight.app.runs import direction_studies, directions
from headlight.app.server import boundary
from headlight.model.runs.direction import Direction

REFUSED = "directions_refused"
TABLES = ["csv", "tsv", "jsonl", "json"]
FORMATS = {".safetensors": "safetensors", ".gguf": "GGUF (llama.cpp)", ".json": "json (Neuronpedia)"}


def draw_refused() -> None:
    """Why a file was not opened, once."""
    if reason := st.session_state.pop(REFUSED, ""):
        notices.refused(reason, "direction_file")


def draw(view: DirectionView | None) -> None:
    """Two popovers that open files, and one that keeps the direction by name and saves it."""
    with st.container(horizontal=True, width="content", key="headlight-direction-files"):
        _opener(
            "Upload labelled prompts", "dir_upload", TABLES, lambda name, data: direction_studies.add_set(name, data)
        )
        _opener("Open a direction", "dir_open", [each[1:] for each in FORMATS], _keep)
        if view is not None:
            _saver(view)


def _opener(label: str, name: str, types: list[str], take: Callable[[str, bytes], str]) -> None:
    key = selection.widget_key(name)

    def taken() -> None:
        file = st.session_state[key]
        if file is None:
            return

        def refuse(reason: str) -> None:
            st.session_state[REFUSED] = f"Could not open {file.name}. {reason}"

        with boundary.guard(refuse):
            chosen = take(file.name, file.getvalue())
            selection.update(
                Choices, dir_set=chosen, dir_column="", dir_toward="", dir_away="", dir_position="end", dir_layer=None
            )

    with st.popover(plain(label), key=f"headlight-{name}"):
        st.file_uploader(plain(label), type=types, key=key, on_change=taken)


def _keep(name: str, data: bytes) -> str:
    return directions.keep(direction_studies.read(name, data))


def _list(direction: Direction) -> None:
    directions.keep(direction)


def _saver(view: DirectionView) -> None:
    with st.popover("Keep or save", key="headlight-direction-save"):
        key = selection.widget_key("dir_name")
        name = st.text_input("Name", view.direction.name, key=key, max_chars=80).strip() or view.direction.name
        named = replace(view.direction, name=name)
        st.button(
            "Keep by this name",
            on_click=_list,
            args=(named,),
            key=selection.widget_key("dir_keep"),
        )
        for suffix, label in FORMATS.items():
            own = _one_layer(named, view.layer) if suffix == ".json" else named
            if suffix == ".gguf" and max(own.layers) < 2:
                continue
            st.download_button(
                plain(label),
                partial(direction_studies.write, own, suffix),
                directions.file_of(own.identity).removesuffix(".safetensors") + suffix,
                key=selection.widget_key(f"dir_save{suffix}"),
                on_click="ignore",
            )


def _one_layer(direction: Direction, layer: int) -> Direction:
    """Neuronpedia's json has a layer a file."""
    return replace(direction, vectors={layer: direction.vectors[layer]})
