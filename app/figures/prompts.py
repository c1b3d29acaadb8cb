"""Figures of statistics over many prompts."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Shaped

from app.figures.theme import figure, ticks


def head_map(
    shown: Float[np.ndarray, "layer head"],
    mean: Float[np.ndarray, "layer head"],
    sd: Float[np.ndarray, "layer head"],
    count: Shaped[np.ndarray, "layer head"],
) -> go.Figure:
    """One number a head, first layer at the top, coloured from 0; pointed at, mean, standard deviation and prompts."""
    n_layers, n_heads = shown.shape
    names = [[f"L{layer}H{head}" for head in range(n_heads)] for layer in range(n_layers)]
    cells = go.Heatmap(
        z=shown.astype(np.float32),
        zmin=0,
        xgap=1,
        ygap=1,
        text=names,
        customdata=np.stack([mean, sd, count], axis=-1).astype(np.float32),
        colorbar={"thickness": 10, "outlinewidth": 0},
        hoverongaps=False,
        hovertemplate="%{text}: mean %{customdata[0]:.3f}, sd %{customdata[1]:.3f}, "
        "%{customdata[2]:.0f} prompts<extra></extra>",
    )
    drawn = figure(cells, x="head", y="layer", height=110 + 22 * n_layers)
    drawn.update_xaxes(showgrid=False, **ticks([str(head) for head in range(n_heads)]))
    drawn.update_yaxes(showgrid=False, autorange="reversed", **ticks([f"L{layer}" for layer in range(n_layers)]))
    return drawn
