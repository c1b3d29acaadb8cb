"""What all figures share: the layout, integer axes, marks of run B, and labels that cannot be read as HTML."""

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

HEIGHT, TALL = 300, 400  # pixels
COLOURS = ("#4f8fd0", "#cc7722")  # at least 3 to 1 against the page, light and dark; told apart by every kind of sight
QUIET = "rgba(128, 140, 155, 0.4)"
LABEL = 12  # characters of an axis label
MAX_TICKS = 16  # labels on an axis; beyond it, evenly spaced ones are shown
COLOUR_BAR = {"thickness": 10, "outlinewidth": 0}

# Blue for more, orange for less; no change is transparent, and so has the page's background in both themes.
SIGNED = [
    [0, "rgba(190, 98, 14, 1)"],
    [0.5, "rgba(190, 98, 14, 0)"],
    [0.5, "rgba(47, 111, 190, 0)"],
    [1, "rgba(47, 111, 190, 1)"],
]

# Run B's lines and bars differ from A's by more than their colour.
DASH = {"B": "dash"}
SYMBOL = {"B": "diamond"}
PATTERN = {"B": "/"}

CONFIG = {"displayModeBar": False, "displaylogo": False, "scrollZoom": False}

Cells = Float[np.ndarray, "row column"]


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


def cells(values: Cells, **heatmap: Any) -> list[go.Heatmap]:
    """A map of numbers; those that are none, because a run lacks the token, are flat and grey."""
    shown = go.Heatmap(z=values.astype(np.float32), colorbar=COLOUR_BAR, hoverongaps=False)
    shown.update(**heatmap)
    missing = np.isnan(values)
    if not missing.any():
        return [shown]
    flat = np.where(missing, 0, np.nan).astype(np.float32)
    absent = go.Heatmap(z=flat, colorscale=[[0, QUIET], [1, QUIET]], showscale=False, hoverongaps=False)
    absent.update(hovertemplate="not in this run<extra></extra>")
    return [absent, shown]


def signed_cells(values: Cells, **heatmap: Any) -> list[go.Heatmap]:
    """A map of B - A around the page's background, its two ends equally far from zero."""
    limit = float(np.nanmax(np.abs(values), initial=0)) or 1.0
    bar = {**COLOUR_BAR, "tickformat": "+.2~g"}
    return cells(values, zmin=-limit, zmax=limit, colorscale=SIGNED, colorbar=bar, **heatmap)


def ticks(labels: Sequence[str], most: int = MAX_TICKS) -> dict[str, Any]:
    """Axis settings that put labels, repeated ones too, at the integers 0, 1, 2, ...; at most so many of them."""
    step = -(-len(labels) // most)
    places = list(range(0, len(labels), step))
    return {"tickmode": "array", "tickvals": places, "ticktext": [escape(_short(labels[place])) for place in places]}


def _short(label: str) -> str:
    return label if len(label) <= LABEL else f"{label[: LABEL - 1]}…"
