"""Figures of edits."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from app.figures.theme import COLOUR_BAR, figure, ticks

MOST_TOKENS = 24  # labels turned by 90 degrees, on the narrowest screen
REACHED = [[0, "rgba(47, 111, 190, 0.15)"], [1, "rgba(47, 111, 190, 1)"]]


def cone(
    changed: Float[np.ndarray, "state pos"],
    reached: Bool[np.ndarray, "state pos"],
    layers: Sequence[str],
    tokens: Sequence[str],
) -> go.Figure:
    """The states (first at the bottom) and positions that edits reach, the darker the more is changed."""
    shown = go.Heatmap(
        z=np.where(reached, changed, np.nan).astype(np.float32),
        zmin=0,
        zmax=float(changed.max(initial=0)) or 1.0,
        xgap=1,
        ygap=1,
        colorscale=REACHED,
        colorbar=COLOUR_BAR,
        hoverongaps=False,
        hovertemplate="%{y}, position %{x}: changed by %{z:.3g} of its length<extra></extra>",
    )
    drawn = figure(shown, x="token", y="after layer", height=130 + 18 * len(layers))
    drawn.update_xaxes(showgrid=False, tickangle=90, range=(-0.5, len(tokens) - 0.5), **ticks(tokens, MOST_TOKENS))
    drawn.update_yaxes(showgrid=False, range=(-0.5, len(layers) - 0.5), **ticks(layers))
    return drawn
