"""A button that takes a file."""

from collections.abc import Callable, Sequence

import streamlit as st

from headlight.app import selection
from headlight.app.parts.markdown import plain

Take = Callable[[str, bytes], None]


def uploader(button: str, label: str, suffixes: Sequence[str], name: str, take: Take) -> None:
    """A popover that takes one file, and closes with it: what the file brought stands under it.

    Args:
        button: what the button says.
        label: which files are taken, in words.
        suffixes: the endings of their names.
        name: the uploader's name, unique on the page.
        take: called with a file's name and bytes.
    """
    count = st.session_state.get(_counter(name), 0)  # each file has a popover of its own, which begins closed
    key = selection.widget_key(f"{name}.{count}")

    def changed() -> None:
        if (file := st.session_state[key]) is not None:
            st.session_state[_counter(name)] = count + 1
            take(file.name, file.getvalue())

    with st.popover(plain(button), key=f"headlight-{name}-{count}"):
        types = [suffix.removeprefix(".") for suffix in suffixes]
        st.file_uploader(plain(label), type=types, key=key, on_change=changed)


def _counter(name: str) -> str:
    return selection.widget_key(f"uploads.{name}")
