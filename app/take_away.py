"""The box under a view: its script, its numbers, its picture and the view itself as files."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from app import selection
from app.exports.export import Export
from app.exports.numbers.data import archive
from app.exports.pictures import style
from app.exports.pictures.style import Kind

MOST_CODE = 30_000  # characters that a browser colours at once; a longer script, of many prompts, is a file alone
KINDS: dict[Kind, tuple[str, str]] = {"svg": ("Vectors (svg)", "image/svg+xml"), "png": ("Pixels (png)", "image/png")}


def draw(export: Export, found: Any, of: Callable[[selection.Selection], Any]) -> None:
    """A box with all four, which waits until it is open: every click on the page would draw it anew.

    What takes long is done when a file is asked for: `of` then finds what is shown once more.
    """
    key = selection.widget_key(f"take_away.{export.name}")
    box = st.expander("Take it with you: code, data, picture, page", key=key, on_change="rerun")
    if not box.open:
        return
    with box:
        code, data, picture, page = st.tabs(["Code", "Data", "Picture", "Page"])
        with code:
            _code(export, found)
        with data:
            _data(export, of)
        with picture:
            _picture(export, of)
        with page:
            _page(export, of)


def _code(export: Export, found: Any) -> None:
    script = export.script(found, selection.current())
    st.caption("Prints the numbers of this page, by Headlight's library alone: run it in Headlight's folder.")
    if len(script) <= MOST_CODE:
        st.code(script, "python", height=420)
    else:
        st.caption(f"{len(script):,} characters are too many to show here.")
    st.download_button(
        "Download (py)", script, f"headlight_{export.name}.py", "text/x-python", key=_key("py"), on_click="ignore"
    )


def _data(export: Export, of: Callable[[selection.Selection], Any]) -> None:
    def made(found: Any, chosen: selection.Selection) -> bytes:
        return archive(found, export.data(found, chosen))

    st.caption("Tables as csv, arrays as npz, and about.json: units, model, weights' hash, prompt, token ids.")
    _file(export, "Everything (zip)", "zip", "application/zip", made, of)


def _picture(export: Export, of: Callable[[selection.Selection], Any]) -> None:
    palette = style.DARK if st.context.theme.type == "dark" else style.LIGHT
    st.caption("In this page's colours, light or dark. Text stays text in the svg.")
    with st.container(horizontal=True):
        for kind, (label, mime) in KINDS.items():

            def made(found: Any, chosen: selection.Selection, kind: Kind = kind) -> bytes:
                return style.file(lambda: export.draw(found, chosen, palette), palette, kind)

            _file(export, label, kind, mime, made, of)


def _page(export: Export, of: Callable[[selection.Selection], Any]) -> None:
    st.caption("This view in one file, to be pointed at as here, without a server or a network.")
    _file(export, "Page (html)", "html", "text/html", export.page, of)


def _file(
    export: Export,
    label: str,
    ending: str,
    mime: str,
    made: Callable[[Any, selection.Selection], bytes],
    of: Callable[[selection.Selection], Any],
) -> None:
    """A button for a file that is made when the button is pressed."""
    chosen = selection.current()
    st.download_button(
        label,
        lambda: made(of(chosen), chosen),
        f"headlight_{export.name}.{ending}",
        mime,
        key=_key(ending),
        on_click="ignore",
    )


def _key(ending: str) -> str:
    return f"headlight-take-{ending}"
