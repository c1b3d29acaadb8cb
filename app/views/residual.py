"""How the residual stream grows from layer to layer, and who adds to it."""

from collections.abc import Mapping
from itertools import zip_longest

import numpy as np
import streamlit as st
from jaxtyping import Float

from app import runs, selection
from app.components import Bars, CellAxis, Colour, Line, Listed, bar_chart, cell_map, line_chart
from app.run import Run
from app.shown import Shown
from app.views import options, tables
from app.views.parts import heading
from app.views.sides import (
    DIFFERENCE,
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
KINDS: dict[str, Colour] = {"attention": "blue", "MLP": "orange"}


def render(shown: Shown) -> None:
    """Norms by layer and place, what each part of the model adds, and how the direction changes."""
    heading("Length of the stream", "residual", "norm")
    chosen = selection.current().position
    place = shown.default_place if chosen is None else chosen
    options.row(_token(shown, place), options.as_tables())
    say_what_is_common(shown)
    norms = on_places(shown, lambda run: runs.kept(run, "norms", lambda: residual.stream_norms(run.streams())))
    _norm_maps(shown, norms)
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
    ends = _ends(norms)
    for side, values in sides.items():
        if side == DIFFERENCE:
            st.caption("B − A: blue where B's stream is longer, orange where A's is")
        elif shown.b is not None:
            st.caption(side)
        cell_map(
            values[::-1],  # the embedding at the bottom
            CellAxis("after", layers[: len(values)][::-1]),
            CellAxis("token", shown.labels, numbered=True),
            title="change of L2 norm" if side == DIFFERENCE else "L2 norm",
            scale="signed" if side == DIFFERENCE else "log",
            ends=None if side == DIFFERENCE else ends,
            lacks="not in both runs" if side == DIFFERENCE else "not in this run",
            key=selection.widget_key(f"norms {side}"),
        )


def _ends(norms: Norms) -> tuple[float, float]:
    """The least and the greatest length of all runs that is not zero, which has no place on a logarithmic scale."""
    positive = np.concatenate([values[values > 0] for values in norms.values()])
    return (float(positive.min()), float(positive.max())) if len(positive) else (1.0, 1.0)


def _token(shown: Shown, place: int) -> Listed:
    return options.place(
        "position",
        "Token shown below",
        shown.labels,
        place,
        lambda at: selection.update(position=at),
        help="The next token is read off the last one.",
        width=220,
    )


def _norm_lines(shown: Shown, norms: Norms, place: int) -> None:
    layers = layer_labels(shown)
    if selection.current().table:
        here = with_difference({side: values[:, place] for side, values in norms.items()})
        columns = tables.of_rows("After layer", layers, named(shown, here, "L2 norm"))
        tables.draw(columns, "L2 norm of the chosen token's stream by layer")
        return
    whole = {side: tables.filled(values, len(layers)) for side, values in norms.items()}
    line_chart(
        [
            Line(shown.labels[place] if shown.b is None else side, values[:, place], dashed=side == "B")
            for side, values in whole.items()
        ],
        layers,
        title="L2 norm",
        along="after layer",
        faint=np.concatenate([values.T for values in whole.values()]),
        faint_name="every token",
        log=True,
        key=selection.widget_key("growth"),
    )


def _written(shown: Shown, parts: Parts, place: int, unit: str) -> None:
    """What each component writes at a place, for the runs that have it."""
    here = {side: values[:, place] for side, values in parts.items() if not np.isnan(values[:, place]).any()}
    if selection.current().table:
        names, columns = _by_component(shown, here)
        table = tables.of_rows("Component", names, named(shown, with_difference(columns), unit))
        tables.draw(table, f"{unit} of what each component writes at the chosen token")
        return
    for side in (side for side in here if shown.sides[side].edits_stream):
        st.caption(f"{side}'s edits of the stream itself, which are no layer's: {here[side][-1]:.3g} ({unit})")
    layers = layer_labels(shown)
    of_runs = [_bars(shown, side, values, len(layers)) for side, values in here.items()]
    bars = [each for of_kind in zip_longest(*of_runs) for each in of_kind if each]  # A's beside B's
    bar_chart(bars, layers, title=unit, along="layer", key=selection.widget_key(f"written {unit}"))


def _bars(shown: Shown, side: str, values: Float[np.ndarray, " component"], n_places: int) -> list[Bars]:
    """A run's embeddings at the first place, and what the parts of each layer write at that layer's."""
    cfg = shown.sides[side].cfg
    token, position, *written = values
    kinds = list(KINDS.items())[: 1 if cfg.attn_only else 2]
    end = len(kinds) * cfg.n_layers  # behind it is what edits of the stream add

    def bars(kind: str, colour: Colour, first: int, numbers: list[float]) -> Bars:
        at = np.full(n_places, np.nan)
        at[first : first + len(numbers)] = numbers
        return Bars(kind if shown.b is None else f"{kind}, {side}", at, colour, hatched=side == "B")

    return [
        bars("token embedding", "light grey", 0, [token]),
        bars("position embedding", "grey", 0, [position]),
        *(bars(kind, colour, 1, written[slot : end : len(kinds)]) for slot, (kind, colour) in enumerate(kinds)),
    ]


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
                continue
            cell_map(
                values,
                CellAxis("after", here),
                CellAxis("and after", here),
                title="change of cosine" if side == DIFFERENCE else "cosine",
                scale="signed" if side == DIFFERENCE else "linear",
                ends=None if side == DIFFERENCE else (0.0, 1.0),
                key=selection.widget_key(f"cosines {side}"),
            )


def _cosine(run: Run) -> Float[np.ndarray, "layer other_layer"]:
    return runs.kept(run, "cosine", lambda: residual.layer_cosine(run.streams()).values.numpy())
