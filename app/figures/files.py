"""Figures as files: Plotly's json, and html that contains Plotly's script and loads nothing."""

from collections.abc import Sequence

from headlight.app.figures import CONFIG, Plot, figure

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; connect-src blob:"
)


def as_json(rows: Sequence[Sequence[Plot]], dark: bool) -> bytes:
    """The figure for `plotly.io.from_json`."""
    return str(figure(rows, dark).to_json()).encode()


def as_html(rows: Sequence[Sequence[Plot]], dark: bool) -> bytes:
    """The figure as a page of its own. The same numbers give the same bytes."""
    page = figure(rows, dark).to_html(
        config=dict(CONFIG), include_plotlyjs=True, include_mathjax=False, div_id="figure"
    )
    head = f'<head><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    return str(page).replace("<head>", head, 1).encode()
