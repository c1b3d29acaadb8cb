"""Figures of the logit lens."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from app.figures.theme import figure, ticks


def top_tokens(probabilities: Float[np.ndarray, "k"], labels: Sequence[str]) -> go.Figure:
    """The most likely tokens of one cell as bars, best on top."""
    drawn = figure(
        go.Bar(
            x=probabilities,
            y=np.arange(len(labels)),
            orientation="h",
            texttemplate="%{x:.2~p}",
            textposition="outside",
            cliponaxis=False,
            hoverinfo="skip",
        ),
        x="probability",
        y="",
        height=40 + 26 * len(labels),
    )
    drawn.update_xaxes(range=[0, max(1.15 * float(probabilities.max()), 1e-6)], tickformat="~%", showgrid=False)
    drawn.update_yaxes(autorange="reversed", showgrid=False, **ticks(labels))
    return drawn


def followed(
    probabilities: Float[np.ndarray, "layer"], ranks: Int[np.ndarray, "layer"], layers: Sequence[str]
) -> go.Figure:
    """One token's probability at one position, layer by layer, with its rank at each point."""
    line = go.Scatter(
        x=np.arange(len(layers)),
        y=probabilities,
        text=[f"#{rank:,}" for rank in ranks],
        mode="lines+markers+text",
        textposition="top center",
        cliponaxis=False,
        hovertemplate="%{y:.3~p}, rank %{text}<extra></extra>",
    )
    drawn = figure(line, x="after layer", y="probability (and rank)")
    drawn.update_xaxes(**ticks(layers))
    drawn.update_yaxes(tickformat="~%", rangemode="tozero")
    return drawn
