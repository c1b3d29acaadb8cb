"""A form that matches the columns of a file to what a set has."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import streamlit as st

from headlight.app import selection
from headlight.app.parts.markdown import plain
from headlight.app.runs.prompt_sets import FIELDS
from headlight.model.text.labels import label

NOT_THERE = "–"


@dataclass(frozen=True)
class Unmatched:
    """A file whose columns are none that are known."""

    name: str
    data: bytes = field(repr=False)
    columns: tuple[str, ...] = ()


def draw(file: Unmatched, take: Callable[[Unmatched, Mapping[str, str]], None]) -> None:
    """A list of the file's columns for each part of a set; submitted, the file is read so."""
    keys = {name: selection.widget_key(f"column.{name}") for name in FIELDS}
    labels = {NOT_THERE: NOT_THERE, **{column: label(column.encode()).replace("␣", " ") for column in file.columns}}
    with st.form("headlight-columns", border=True):
        st.text(f"{file.name} has columns that no program is known to write. Say what they are.")
        for name, title in FIELDS.items():
            st.selectbox(plain(title), list(labels), format_func=labels.__getitem__, key=keys[name])
        st.form_submit_button("Read the file", type="primary", on_click=lambda: take(file, _chosen(keys)))


def _chosen(keys: Mapping[str, str]) -> dict[str, str]:
    columns = {name: st.session_state[key] for name, key in keys.items()}
    return {name: column for name, column in columns.items() if column not in (None, NOT_THERE)}
