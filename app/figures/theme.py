"""What all figures share: the layout, integer axes, and labels that cannot be read as HTML."""

import html
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

HEIGHT = 300
COLOURS = ("#4f8fd0", "#cc7722")  # at least 3 to 1 against the page, light and dark; told apart by every kind of sight
QUIET = "rgba(128, 140, 155, 0.4)"
LABEL = 12  # characters of an axis label
MAX_TICKS = 16  # labels on an axis; beyond it, evenly spaced ones are shown

CONFIG = {"displayModeBar": False, "displaylogo": False, "scrollZoom": False}


def escape(label: str) -> str:
    """A token's label as text that Plotly shows as it stands, angle brackets and ampersands included."""
    return html.escape(label, quote=False)


def figure(*traces: go.Scatter | go.Bar | go.Heatmap, x: str, y: str, height: int = HEIGHT) -> go.Figure:
    """A figure with titled axes and nothing that is not data."""
    drawn = go.Figure(traces)
    drawn.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "title": None},
        colorway=COLOURS,
        bargap=0.25,
        hovermode="closest",
        dragmode=False,
    )
    drawn.update_xaxes(title=x, automargin=True, zeroline=False, fixedrange=True)
    drawn.update_yaxes(title=y, automargin=True, zeroline=False, fixedrange=True)
    return drawn


def ticks(labels: Sequence[str]) -> dict[str, Any]:
    """Axis settings that put labels, repeated ones too, at the integers 0, 1, 2, ..."""
    step = -(-len(labels) // MAX_TICKS)
    places = list(range(0, len(labels), step))
    return {"tickmode": "array", "tickvals": places, "ticktext": [escape(_short(labels[place])) for place in places]}


def _short(label: str) -> str:
    return label if len(label) <= LABEL else f"{label[: LABEL - 1]}…"
