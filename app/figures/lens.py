"""Figures of the logit lens."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from app.figures.theme import COLOURS, DASH, PATTERN, SYMBOL, figure, ticks

RANK_PLACE = {"B": "bottom center"}  # where B's ranks are written, so that they miss A's


def top_tokens(
    probabilities: Float[np.ndarray, "k"], labels: Sequence[str], largest: float, run: str = ""
) -> go.Figure:
    """The most likely tokens of one cell as bars, best on top; the axis ends a little after the `largest` shown."""
    slot = int(run == "B")
    drawn = figure(
        go.Bar(
            x=probabilities,
            y=np.arange(len(labels)),
            orientation="h",
            texttemplate="%{x:.2~p}",
            textposition="outside",
            cliponaxis=False,
            hoverinfo="skip",
            marker={"color": COLOURS[slot], "pattern": {"shape": PATTERN.get(run, "")}},
        ),
        x="probability",
        y="",
        height=40 + 26 * len(labels),
    )
    drawn.update_xaxes(range=[0, max(1.15 * largest, 1e-6)], tickformat="~%", showgrid=False)
    drawn.update_yaxes(autorange="reversed", showgrid=False, **ticks(labels))
    return drawn


class Followed(NamedTuple):
    """One token's probability and rank at one position, layer by layer."""

    probabilities: Float[np.ndarray, " layer"]
    ranks: Int[np.ndarray, " layer"]


def followed(runs: Mapping[str, Followed], layers: Sequence[str]) -> go.Figure:
    """One token's probability after each layer, a line a run, with its rank at each point.

    A single run may have an empty name.
    """
    lines = [
        go.Scatter(
            x=np.arange(len(run.probabilities)),
            y=run.probabilities,
            text=[f"#{rank:,}" for rank in run.ranks],
            name=name,
            showlegend=bool(name),
            mode="lines+markers+text",
            textposition=RANK_PLACE.get(name, "top center"),
            cliponaxis=False,
            line={"color": COLOURS[int(name == "B")], "dash": DASH.get(name, "solid")},
            marker={"symbol": SYMBOL.get(name, "circle"), "size": 7},
            hovertemplate="%{y:.3~p}, rank %{text}<extra>%{fullData.name}</extra>",
        )
        for name, run in runs.items()
    ]
    drawn = figure(*lines, x="after layer", y="probability (and rank)")
    drawn.update_xaxes(**ticks(layers))
    top = 1.2 * max(float(run.probabilities.max()) for run in runs.values())
    drawn.update_yaxes(tickformat="~%", nticks=6, range=[-0.14 * top if "B" in runs else 0, max(top, 1e-6)])
    return drawn
