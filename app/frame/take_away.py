"""The box under a view: its script, its numbers, its picture and the view itself as files."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from headlight.app import selection
from headlight.app.exports import style
from headlight.app.exports.data import archive
from headlight.app.exports.export import Export
from headlight.app.exports.pictures import fitting
from headlight.app.exports.style import Kind
from headlight.app.figures import files
from headlight.app.parts import charts
from headlight.app.parts.markdown import plain
from headlight.app.selection import Selection

Writer = Callable[[charts.Rows, bool], bytes]
RunsFor = Callable[[Selection], Any]

MAX_CODE = 30_000  # characters that a browser colours at once; a longer script, of many prompts, is a file alone
KINDS: dict[Kind, tuple[str, str]] = {
    "svg": ("SVG", "image/svg+xml"),
    "pdf": ("PDF", "application/pdf"),
    "png": ("PNG", "image/png"),
}
WIDTHS = {
    "": "as its parts need",
    **{name: f"a paper's {name} ({inches} in)" for name, inches in fitting.WIDTHS.items()},
}
FIGURE: dict[str, tuple[str, str, Writer]] = {
    "json": ("Figure (json)", "application/json", files.as_json),
    "html": ("Figure (html)", "text/html", files.as_html),
}


def draw(export: Export, runs: Any, runs_for: RunsFor) -> None:
    """Draw a box with all four exports when it is open: every click on the page would rebuild them.

    Slow files are made when their button is pressed; `runs_for` then returns the runs of the selection again.
    """
    key = selection.widget_key(f"take_away.{export.name}")
    box = st.expander("Export: code, data, image, web page", key=key, on_change="rerun")
    if not box.open:
        return
    with box:
        code, data, picture, page = st.tabs(["Code", "Data", "Image", "Web page"])
        with code:
            _code(export, runs)
        with data:
            _data(export, runs_for)
        with picture:
            _picture(export, runs_for)
        with page:
            _page(export, runs_for)


def _code(export: Export, runs: Any) -> None:
    script = export.script(runs, selection.current())
    st.caption("A script that prints this page's numbers with headlight.model, from any folder.")
    if len(script) <= MAX_CODE:
        st.code(script, "python", height=420)
    else:
        st.caption(f"{len(script):,} characters are too many to show here.")
    # Made when it is pressed, as the other files: one that lies ready may be gone before the browser looks for it.
    st.download_button(
        "Download (py)",
        lambda: script,
        f"headlight_{export.name}.py",
        "text/x-python",
        key=_key("py"),
        on_click="ignore",
    )


def _data(export: Export, runs_for: RunsFor) -> None:
    def made(runs: Any, chosen: Selection) -> bytes:
        return archive(runs, export.data(runs, chosen))

    st.caption("Tables as csv, arrays as npz, and about.json: units, model, weights' hash, prompt, token ids.")
    _file(export, "Everything (zip)", "zip", "application/zip", made, runs_for)


def _picture(export: Export, runs_for: RunsFor) -> None:
    dark = st.context.theme.type == "dark"
    palette = style.DARK if dark else style.LIGHT
    st.caption("In the page's colours, light or dark. Text in SVG and PDF stays text.")
    width = st.radio("Width", WIDTHS, format_func=WIDTHS.get, horizontal=True, key=selection.widget_key("paper_width"))
    inches = fitting.WIDTHS.get(width or "")
    with st.container(horizontal=True):
        for kind, (label, mime) in KINDS.items():

            def made(runs: Any, chosen: Selection, kind: Kind = kind) -> bytes:
                dpi = style.PAPER_DPI if inches else None
                return style.file(lambda: export.picture(runs, chosen, palette, inches), palette, kind, dpi)

            _file(export, label, kind, mime, made, runs_for)
    if export.has_plots:
        st.caption("The charts only: JSON for plotly.io.from_json, or interactive HTML that works offline.")
        with st.container(horizontal=True):
            for ending, (label, mime, write) in FIGURE.items():

                def written(runs: Any, chosen: Selection, write: Writer = write) -> bytes:
                    return write(export.plots(runs, chosen), dark)

                _file(export, label, f"figure.{ending}", mime, written, runs_for)


def _page(export: Export, runs_for: RunsFor) -> None:
    st.caption("One interactive HTML file; works offline.")
    _file(export, "Web page (html)", "html", "text/html", export.page, runs_for)


def _file(
    export: Export, label: str, ending: str, mime: str, made: Callable[[Any, Selection], bytes], runs_for: RunsFor
) -> None:
    """A button for a file that is made when the button is pressed."""
    chosen = selection.current()
    name = f"headlight_{export.name}.{ending}"
    st.download_button(
        plain(label), lambda: made(runs_for(chosen), chosen), name, mime, key=_key(ending), on_click="ignore"
    )


def _key(ending: str) -> str:
    return f"headlight-take-{ending}"
