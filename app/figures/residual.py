"""Figures of the residual stream."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from app.figures.theme import (
    COLOUR_BAR,
    COLOURS,
    DASH,
    HEIGHT,
    PATTERN,
    QUIET,
    SYMBOL,
    TALL,
    cells,
    escape,
    figure,
    signed_cells,
    ticks,
)

MOST_TOKENS = 24  # labels turned by 90 degrees, on the narrowest screen
STRONG_GREY = "rgba(128, 140, 155, 0.9)"
VALUE = "%{y:.3g}<extra>%{fullData.name}</extra>"
_ONE_TWO_FIVE = [digit * 10.0**power for power in range(-6, 7) for digit in (1, 2, 5)]

Norms = Float[np.ndarray, "layer place"]
Layers = Sequence[str]


class Writes(NamedTuple):
    """One value for each embedding and, layer by layer, for each kind of part, by name."""

    embeddings: Mapping[str, float]
    by_layer: Mapping[str, Float[np.ndarray, " layer"]]


def norm_map(norms: Norms, layers: Layers, tokens: Sequence[str], ends: tuple[float, float]) -> go.Figure:
    """Norm by layer (first at the bottom) and place, coloured on a logarithmic scale between two norms."""
    marks, texts = _marks(*ends)
    shown = cells(
        np.log10(norms),
        zmin=np.log10(ends[0]),
        zmax=np.log10(ends[1]),
        customdata=norms.astype(np.float32),
        colorbar={**COLOUR_BAR, "tickvals": np.log10(marks), "ticktext": texts},
        hovertemplate="%{y}, position %{x}: %{customdata:.3g}<extra></extra>",
    )
    return _by_place(shown, layers, tokens)


def norm_change(change: Norms, layers: Layers, tokens: Sequence[str]) -> go.Figure:
    """B's norm minus A's by layer and place."""
    return _by_place(
        signed_cells(change, hovertemplate="%{y}, position %{x}: %{z:+.3g}<extra></extra>"), layers, tokens
    )


def _by_place(shown: Sequence[go.Heatmap], layers: Layers, tokens: Sequence[str]) -> go.Figure:
    drawn = figure(*shown, x="token", y="after layer", height=160 + 18 * len(layers))
    drawn.update_xaxes(showgrid=False, tickangle=90, **ticks(tokens, MOST_TOKENS))
    drawn.update_yaxes(showgrid=False, **ticks(layers))
    return drawn


def stream_norms(norms: Mapping[str, Norms], place: int, layers: Layers) -> go.Figure:
    """Norm by layer on a logarithmic axis: every token a faint line, and each run's one at `place` a strong line.

    A run without a token at that place has no strong line.
    """
    bundles = [_bundle(run, named=slot == 0) for slot, run in enumerate(norms.values())]
    strong = [_strong(name, run[:, place], slot) for slot, (name, run) in enumerate(norms.items())]
    drawn = figure(*bundles, *(line for line in strong if line is not None), x="after layer", y="L2 norm")
    drawn.update_xaxes(**ticks(layers))
    low, high = (bound([bound(run) for run in norms.values()]) for bound in (np.nanmin, np.nanmax))
    marks, texts = _marks(low, high)
    drawn.update_yaxes(type="log", tickvals=marks, ticktext=texts)
    return drawn


def _strong(name: str, values: Float[np.ndarray, " layer"], slot: int) -> go.Scatter | None:
    if np.isnan(values).all():
        return None
    return go.Scatter(
        x=np.arange(len(values)),
        y=values,
        mode="lines+markers",
        name=escape(name),
        line={"color": COLOURS[slot], "dash": DASH.get(name, "solid")},
        marker={"symbol": SYMBOL.get(name, "circle"), "size": 7},
        hovertemplate=VALUE,
    )


def _marks(low: float, high: float) -> tuple[list[float], list[str]]:
    """Round numbers for a logarithmic axis between two values, and their texts."""
    inside = [mark for mark in _ONE_TWO_FIVE if low <= mark <= high]
    return inside, [f"{mark:g}" for mark in inside]


def _bundle(norms: Norms, named: bool) -> go.Scatter:
    """All tokens' lines as one trace with gaps, which draws a thousand of them at once."""
    n_layers, n_places = norms.shape
    x = np.tile(np.append(np.arange(n_layers, dtype=np.float32), np.nan), n_places)
    y = np.vstack([norms, np.full((1, n_places), np.nan)]).T.ravel()
    return go.Scatter(
        x=x,
        y=y,
        mode="lines",
        name="every token",
        showlegend=named,
        line={"width": 1, "color": QUIET},
        hoverinfo="skip",
    )


def writes(runs: Mapping[str, Writes], layers: Layers, y: str) -> go.Figure:
    """Bars for what the embeddings and then each layer's parts write; `layers` begins with the embedding's label.

    The runs' bars stand side by side, those of B hatched. A single run may have an empty name.
    """
    bars = [
        _bar(part, name, slot * len(runs) + offset)
        for slot, parts in enumerate(zip(*(_parts(run) for run in runs.values()), strict=False))
        for offset, (name, part) in enumerate(zip(runs, parts, strict=True))
    ]
    drawn = figure(*bars, x="layer", y=y, height=HEIGHT if len(runs) == 1 else TALL)  # its legend is twice as long
    drawn.update_traces(hovertemplate=VALUE)
    drawn.update_xaxes(**ticks(layers))
    return drawn


class _Part(NamedTuple):
    name: str
    first: int
    values: Float[np.ndarray, " layer"]
    colour: str


def _parts(run: Writes) -> list[_Part]:
    """The embeddings at the first place of the axis, every other kind of part from the second on."""
    embeddings = zip(run.embeddings.items(), (QUIET, STRONG_GREY), strict=True)
    kinds = zip(run.by_layer.items(), COLOURS, strict=False)
    return [
        *(_Part(name, 0, np.array([value]), colour) for (name, value), colour in embeddings),
        *(_Part(name, 1, values, colour) for (name, values), colour in kinds),
    ]


def _bar(part: _Part, run: str, offset: int) -> go.Bar:
    return go.Bar(
        x=np.arange(part.first, part.first + len(part.values)),
        y=part.values,
        name=f"{part.name}, {run}" if run else part.name,
        offsetgroup=offset,
        marker={"color": part.colour, "pattern": {"shape": PATTERN.get(run, "")}},
    )


def layer_cosine(cosine: Float[np.ndarray, "layer other_layer"], layers: Layers) -> go.Figure:
    """How alike the stream's directions are between layers, coloured from 0 to 1 (below 0 as 0)."""
    hover = "%{y} and %{x}: %{z:.3f}<extra></extra>"
    return _by_layer(cells(cosine, zmin=0, zmax=1, xgap=1, ygap=1, hovertemplate=hover), layers)


def cosine_change(change: Float[np.ndarray, "layer other_layer"], layers: Layers) -> go.Figure:
    """B's cosine minus A's between every two layers."""
    hover = "%{y} and %{x}: %{z:+.3f}<extra></extra>"
    return _by_layer(signed_cells(change, xgap=1, ygap=1, hovertemplate=hover), layers)


def _by_layer(shown: Sequence[go.Heatmap], layers: Layers) -> go.Figure:
    drawn = figure(*shown, x="after layer", y="after layer")
    drawn.update_xaxes(showgrid=False, **ticks(layers))
    drawn.update_yaxes(showgrid=False, autorange="reversed", **ticks(layers))
    return drawn
