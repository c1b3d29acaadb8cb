"""How the residual stream grows from layer to layer, and who adds to it."""

from collections.abc import Mapping

import numpy as np
import streamlit as st
from jaxtyping import Float

from app import runs, selection
from app.run import Run
from app.shown import Shown
from app.views import tables
from app.views.parts import chart, heading
from app.views.sides import (
    DIFFERENCE,
    as_tables,
    layer_labels,
    named,
    on_places,
    say_what_is_common,
    say_what_is_missing,
    with_difference,
)
from model.analysis import residual

Norms = Mapping[str, Float[np.ndarray, "layer place"]]
Parts = Mapping[str, Float[np.ndarray, "component place"]]


def render(shown: Shown) -> None:
    """Norms by layer and place, what each part of the model adds, and how the direction changes."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        heading("Length of the stream", "residual", "norm")
        st.space("stretch")
        as_tables()
    say_what_is_common(shown)
    norms = on_places(shown, lambda run: runs.kept(run, "norms", lambda: residual.stream_norms(run.streams())))
    _norm_maps(shown, norms)
    place = _place(shown)
    say_what_is_missing(shown, place)
    left, right = st.columns(2, gap="large")
    with left:
        heading("How it grows", "norm")
        _norm_lines(shown, norms, place)
    with right:
        heading("What each part adds", "norm")
        _written(shown, on_places(shown, lambda run: _decomposition(run).norms), place, "L2 norm")
    # With a B they need the width: twice the bars, and three maps.
    left, right = st.columns(2, gap="large") if shown.b is None else (st.container(), st.container())
    with left:
        heading("What the final stream is made of", "share")
        _written(shown, on_places(shown, lambda run: _decomposition(run).shares), place, "share")
    with right:
        heading("How its direction changes", "cosine")
        _cosines(shown)


def decompose(run: Run) -> residual.Decomposition:
    """Every component's norm and share, in the order of writing."""
    *_, final = run.streams()
    return residual.decompose(dict(run.writes()), final)


def _decomposition(run: Run) -> residual.Decomposition:
    return runs.kept(run, "decomposition", lambda: decompose(run))


def _norm_maps(shown: Shown, norms: Norms) -> None:
    sides, layers = with_difference(norms), layer_labels(shown)
    if selection.current().table:
        columns = tables.of_cells(named(shown, sides, "L2 norm"), layers, shown.labels)
        tables.draw(columns, "L2 norm of the stream by place and layer")
        return
    # Here, because Plotly takes a quarter of a second that other pages need not pay.
    from app.figures import residual as figures

    ends = float(min(map(np.nanmin, norms.values()))), float(max(map(np.nanmax, norms.values())))
    for side, values in sides.items():
        here = layers[: len(values)]
        if side == DIFFERENCE:
            st.caption("B − A: blue where B's stream is longer, orange where A's is")
            chart("norm_change", figures.norm_change(values, here, shown.labels))
        else:
            if shown.b is not None:
                st.caption(side)
            chart(f"norm_map_{side}", figures.norm_map(values, here, shown.labels, ends))


def _place(shown: Shown) -> int:
    last = len(shown.labels) - 1
    chosen = st.selectbox(
        "Token shown below",
        range(len(shown.labels)),
        format_func=lambda place: f"{place}  {shown.labels[place]}",
        help="The next token is read off the last one.",
        width=280,
        **selection.bind("position", default=last),
    )
    return last if chosen is None else chosen


def _norm_lines(shown: Shown, norms: Norms, place: int) -> None:
    layers = layer_labels(shown)
    if selection.current().table:
        here = with_difference({side: values[:, place] for side, values in norms.items()})
        columns = tables.of_rows("After layer", layers, named(shown, here, "L2 norm"))
        tables.draw(columns, "L2 norm of the chosen token's stream by layer")
        return
    from app.figures import residual as figures

    lines = {shown.labels[place]: norms["A"]} if shown.b is None else norms
    chart("norms", figures.stream_norms(lines, place, layers))


def _written(shown: Shown, parts: Parts, place: int, unit: str) -> None:
    """What each component writes at a place, for the runs that have it."""
    here = {side: values[:, place] for side, values in parts.items() if not np.isnan(values[:, place]).any()}
    if selection.current().table:
        names, columns = _by_component(shown, here)
        table = tables.of_rows("Component", names, named(shown, with_difference(columns), unit))
        tables.draw(table, f"{unit} of what each component writes at the chosen token")
        return
    from app.figures import residual as figures

    def bars(run: Run, values: Float[np.ndarray, " component"]) -> figures.Writes:
        token, place, *layers = values
        kinds = ("attention",) if run.cfg.attn_only else ("attention", "MLP")
        end = len(kinds) * run.cfg.n_layers  # behind it is what edits of the stream add
        by_layer = {kind: np.array(layers[slot : end : len(kinds)]) for slot, kind in enumerate(kinds)}
        return figures.Writes({"token embedding": token, "position embedding": place}, by_layer)

    drawn = {side: bars(shown.sides[side], values) for side, values in here.items()}
    for side in (side for side in here if shown.sides[side].edits_stream):
        st.caption(f"{side}'s edits of the stream itself, which are no layer's: {here[side][-1]:.3g} ({unit})")
    chart(f"written_{unit}", figures.writes(named(shown, drawn, ""), layer_labels(shown), unit))


def _by_component(
    shown: Shown, values: Mapping[str, Float[np.ndarray, " component"]]
) -> tuple[list[str], dict[str, Float[np.ndarray, " name"]]]:
    """The names of all that writes in any of these runs, and each run's values in that order, NaN where it has none."""
    by_name = {
        side: dict(zip((name for name, _ in shown.sides[side].writes()), of_run, strict=True))
        for side, of_run in values.items()
    }
    names = list(dict.fromkeys(name for of_run in by_name.values() for name in of_run))
    return names, {side: np.array([of_run.get(name, np.nan) for name in names]) for side, of_run in by_name.items()}


def _cosines(shown: Shown) -> None:
    sides = with_difference({side: _cosine(run) for side, run in shown.sides.items()})
    layers = layer_labels(shown)
    for column, (side, values) in zip(st.columns(len(sides)), sides.items(), strict=True):
        here = layers[: len(values)]
        with column:
            if shown.b is not None:
                st.caption(side)
            if selection.current().table:
                columns = tables.of_rows("After layer", here, dict(zip(here, values.T, strict=True)))
                tables.draw(columns, f"Cosine between the stream's states after every two layers {side}")
            else:
                _cosine_chart(side, values, here)


def _cosine_chart(side: str, values: Float[np.ndarray, "layer other_layer"], layers: tuple[str, ...]) -> None:
    from app.figures import residual as figures

    draw = figures.cosine_change if side == DIFFERENCE else figures.layer_cosine
    chart(f"cosine_{'change' if side == DIFFERENCE else side}", draw(values, layers))


def _cosine(run: Run) -> Float[np.ndarray, "layer other_layer"]:
    return runs.kept(run, "cosine", lambda: residual.layer_cosine(run.streams()).values.numpy())
