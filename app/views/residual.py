"""How the residual stream grows from layer to layer, and who adds to it."""

import numpy as np
import streamlit as st
from jaxtyping import Float

from app import runs, selection
from app.runs import Run
from app.views.parts import chart, heading
from model.analysis import residual


def render(run: Run) -> None:
    """Norms by layer and position, what each part of the model adds, and how the direction changes."""
    # Here, because Plotly takes a quarter of a second that other pages need not pay.
    from app.figures import residual as figures

    layers = run.layer_labels
    norms = runs.kept(run, "norms", lambda: residual.stream_norms(run.streams()).values.numpy())
    cosine = runs.kept(run, "cosine", lambda: residual.layer_cosine(run.streams()).values.numpy())
    parts = runs.kept(run, "decomposition", lambda: decompose(run))
    heading("Length of the stream", "residual", "norm")
    chart("norm_map", figures.norm_map(norms, layers, run.labels))
    position = _position(run)
    left, right = st.columns(2, gap="large")
    with left:
        heading("How it grows", "norm")
        chart("norms", figures.stream_norms(norms, position, layers, run.labels))
        heading("What the final stream is made of", "share")
        chart("shares", figures.writes(*_writes(run, parts.shares.values[:, position].numpy()), layers, "share"))
    with right:
        heading("What each part adds", "norm")
        chart("writes", figures.writes(*_writes(run, parts.norms.values[:, position].numpy()), layers, "L2 norm"))
        heading("How its direction changes", "cosine")
        chart("cosine", figures.layer_cosine(cosine, layers))


def decompose(run: Run) -> residual.Decomposition:
    """Every component's norm and share, in the order of writing."""
    *_, final = run.streams()
    return residual.decompose(dict(run.writes()), final)


def _position(run: Run) -> int:
    last = len(run.labels) - 1
    chosen = st.selectbox(
        "Token shown below",
        range(len(run.labels)),
        format_func=lambda place: f"{place}  {run.labels[place]}",
        help="The next token is read off the last one.",
        width=280,
        **selection.bind("position", default=last),
    )
    return last if chosen is None else chosen


def _writes(
    run: Run, values: Float[np.ndarray, " component"]
) -> tuple[dict[str, float], dict[str, Float[np.ndarray, " layer"]]]:
    """One value a component, in the order of writing, as the embeddings' and the layers', by name."""
    token, place, *layers = values
    kinds = ("attention",) if run.cfg.attn_only else ("attention", "MLP")
    by_layer = {name: np.array(layers[slot :: len(kinds)]) for slot, name in enumerate(kinds)}
    return {"token embedding": token, "position embedding": place}, by_layer
