"""Figures of the residual stream."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from app.figures.theme import COLOURS, QUIET, escape, figure, ticks

COLOUR_BAR = {"thickness": 10, "outlinewidth": 0}
VALUE = "%{y:.3g}<extra>%{fullData.name}</extra>"
_ONE_TWO_FIVE = [digit * 10.0**power for power in range(-6, 7) for digit in (1, 2, 5)]


def norm_map(norms: Float[np.ndarray, "layer pos"], layers: Sequence[str], tokens: Sequence[str]) -> go.Figure:
    """Norm by layer (first at the bottom) and position, coloured on a logarithmic scale."""
    marks, texts = _marks(norms)
    cells = go.Heatmap(
        z=np.log10(norms).astype(np.float32),
        customdata=norms.astype(np.float32),
        colorbar={**COLOUR_BAR, "tickvals": np.log10(marks), "ticktext": texts},
        hovertemplate="%{y}, position %{x}: %{customdata:.3g}<extra></extra>",
    )
    drawn = figure(cells, x="token", y="after layer", height=160 + 18 * len(layers))
    drawn.update_xaxes(showgrid=False, tickangle=90, **ticks(tokens))
    drawn.update_yaxes(showgrid=False, **ticks(layers))
    return drawn


def stream_norms(
    norms: Float[np.ndarray, "layer pos"], position: int, layers: Sequence[str], tokens: Sequence[str]
) -> go.Figure:
    """Norm by layer on a logarithmic axis: every token a faint line, the one at `position` a strong line over them."""
    strong = go.Scatter(
        x=np.arange(len(layers)),
        y=norms[:, position],
        mode="lines+markers",
        name=escape(tokens[position]),
        hovertemplate=VALUE,
    )
    drawn = figure(_bundle(norms), strong, x="after layer", y="L2 norm")
    drawn.update_xaxes(**ticks(layers))
    marks, texts = _marks(norms)
    drawn.update_yaxes(type="log", tickvals=marks, ticktext=texts)
    return drawn


def _marks(norms: Float[np.ndarray, "layer pos"]) -> tuple[list[float], list[str]]:
    """Round numbers for a logarithmic axis over these values, and their texts."""
    inside = [mark for mark in _ONE_TWO_FIVE if norms.min() <= mark <= norms.max()]
    return inside, [f"{mark:g}" for mark in inside]


def _bundle(norms: Float[np.ndarray, "layer pos"]) -> go.Scatter:
    """All tokens' lines as one trace with gaps, which draws a thousand of them at once."""
    n_layers, n_pos = norms.shape
    x = np.tile(np.append(np.arange(n_layers, dtype=np.float32), np.nan), n_pos)
    y = np.vstack([norms, np.full((1, n_pos), np.nan)]).T.ravel()
    return go.Scatter(x=x, y=y, mode="lines", name="every token", line={"width": 1, "color": QUIET}, hoverinfo="skip")


def writes(
    embeddings: Mapping[str, float], by_layer: Mapping[str, Float[np.ndarray, " layer"]], layers: Sequence[str], y: str
) -> go.Figure:
    """Bars for what the embeddings and then each layer's parts write; `layers` begins with the embedding's label."""
    bars = [
        go.Bar(x=[0], y=[value], name=name, offsetgroup=slot, marker={"color": QUIET, "pattern": {"shape": shape}})
        for slot, ((name, value), shape) in enumerate(zip(embeddings.items(), ("", "/"), strict=True))
    ]
    bars += [
        go.Bar(x=np.arange(1, len(layers)), y=values, name=name, offsetgroup=slot, marker={"color": COLOURS[slot]})
        for slot, (name, values) in enumerate(by_layer.items())
    ]
    drawn = figure(*bars, x="layer", y=y)
    drawn.update_traces(hovertemplate=VALUE)
    drawn.update_xaxes(**ticks(layers))
    return drawn


def layer_cosine(cosine: Float[np.ndarray, "layer other_layer"], layers: Sequence[str]) -> go.Figure:
    """How alike the stream's directions are between layers, coloured from 0 to 1 (below 0 as 0)."""
    cells = go.Heatmap(
        z=cosine.astype(np.float32),
        zmin=0,
        zmax=1,
        xgap=1,
        ygap=1,
        colorbar=COLOUR_BAR,
        hovertemplate="%{y} and %{x}: %{z:.3f}<extra></extra>",
    )
    drawn = figure(cells, x="after layer", y="after layer")
    drawn.update_xaxes(showgrid=False, **ticks(layers))
    drawn.update_yaxes(showgrid=False, autorange="reversed", **ticks(layers))
    return drawn
