"""Growth of the residual stream from layer to layer, and the components that add to it."""

from collections.abc import Mapping

import numpy as np
import streamlit as st

from headlight.app import selection
from headlight.app.components import Listed, bars_once, cell_map
from headlight.app.pages.residual import charts as own
from headlight.app.pages.residual import sentences
from headlight.app.pages.residual.maps import GROUP, norm_map
from headlight.app.parts import charts, needs, options, tables
from headlight.app.parts.markdown import plain
from headlight.app.parts.pair import place_of
from headlight.app.parts.parts import heading, title_row
from headlight.app.parts.sides import (
    DIFFERENCE,
    by_side,
    named,
    say_what_is_common,
    say_what_is_missing,
)
from headlight.model.attention.residual_tables import (
    component_names,
    component_norms,
    component_shares,
    layer_cosines,
    stream_norms,
)
from headlight.model.runs.comparison import Comparison


def render(comparison: Comparison) -> None:
    """Draw norms by layer and place, each component's write, and the change of direction."""
    place = place_of(comparison, selection.current())
    sentences.draw(comparison)
    with title_row("Residual stream norm", "residual", "norm", level=1):
        options.row(_token(comparison, place), options.as_tables())
    say_what_is_common(comparison)
    norms = by_side(stream_norms(comparison))
    _norm_maps(comparison, norms)
    say_what_is_missing(comparison, place)
    parts = {"L2 norm": by_side(component_norms(comparison))}
    if no_shares := needs.split(comparison):
        st.info(plain(f"{no_shares} So no component has a share of it."))
    else:
        parts["share"] = by_side(component_shares(comparison))
    heading("By layer, at the token", "norm", "share", "cosine")
    if selection.current().table:
        _tables(comparison, norms, parts, place)
    else:
        charts.draw(own.rows(comparison, selection.current()), "Norm by layer, component norms and shares, and cosines")


def _norm_maps(comparison: Comparison, norms: own.Norms) -> None:
    layers = comparison.layer_labels
    if selection.current().table:
        columns = tables.of_cells(named(comparison, norms, "L2 norm"), layers, comparison.labels)
        tables.draw(columns, "L2 norm of the stream by place and layer")
        return
    drawn = bars_once([norm_map(comparison, norms, side) for side in norms])
    for side, side_map in zip(norms, drawn, strict=True):
        if side == DIFFERENCE:
            st.caption("B − A: blue where the norm is larger in B, orange where it is larger in A")
        elif comparison.b is not None:
            st.caption(plain(side))
        cell_map(side_map, group=GROUP, key=selection.widget_key(f"norms {side}"))


def _token(comparison: Comparison, place: int) -> Listed:
    return options.place(
        "position",
        "Token below",
        comparison.labels,
        place,
        lambda at: selection.update(position=at),
        help="The last one predicts the next token.",
        width=220,
        groups=comparison.turns,
    )


def _tables(comparison: Comparison, norms: own.Norms, parts: Mapping[str, own.Parts], place: int) -> None:
    layers = comparison.layer_labels
    here = {side: values[:, place] for side, values in norms.items()}
    columns = tables.of_rows("After layer", layers, named(comparison, here, "L2 norm"))
    tables.draw(columns, "L2 norm of the chosen token's stream by layer")
    for unit, sizes in parts.items():
        here = {side: values[:, place] for side, values in sizes.items() if np.isfinite(values[:, place]).any()}
        table = tables.of_rows("Component", component_names(comparison), named(comparison, here, unit))
        tables.draw(table, f"{unit} of each component's output at the chosen token")
    for side, values in by_side(layer_cosines(comparison)).items():
        if comparison.b is not None:
            st.caption(plain(side))
        after = layers[: len(values)]
        columns = tables.of_rows("After layer", after, dict(zip(after, values.T, strict=True)))
        tables.draw(columns, f"Cosine between the stream's states after every two layers {side}")
