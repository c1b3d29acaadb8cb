"""The attention page in numbers: every head's scores, and the chosen heads' cells."""

import numpy as np
import streamlit as st
from jaxtyping import Float

from app import fields
from app.axis import Axis
from app.fields import How
from app.selection.chosen import Head, Side
from app.shown import Shown
from app.views.head_tables import draw_scores, name
from app.views.parts import heading

CELL = st.column_config.NumberColumn(format="%.6f", width=95)  # all of it fits: a number cut off is another one
SIDES: dict[Side, str] = {"a": "A", "b": "B", "difference": "B − A"}


def draw(shown: Shown, chosen: tuple[Head, ...], how: How, axis: Axis) -> None:
    """The tables that stand for the grid and for the heads beside it."""
    heading("All heads", "attention", "head")
    everyone = tuple((layer, head) for layer in range(shown.n_layers) for head in range(shown.n_heads))
    draw_scores(shown, everyone, axis, "Scores of all heads on this prompt")
    title, unit = fields.TITLES[how.show]
    sides: list[tuple[Side, str]] = [("a", "")] if shown.b is None else list(SIDES.items())
    for head in chosen:
        for side, caption in sides:
            heading(f"{name(head)} {caption}")
            st.caption(f"{title}{f' ({unit})' if unit else ''}. Row: the token that looks. Empty: masked or not there.")
            columns = cells_table(fields.on_axis(shown, side, head, how, axis).numpy(), axis)
            st.dataframe(
                columns,
                column_config={key: CELL for key in columns if key},
                hide_index=True,
                placeholder="",
                alt=f"{title} of {name(head)} {caption}: row the token that looks, column the one seen",
            )


def cells_table(
    cells: Float[np.ndarray, "query key"], axis: Axis
) -> dict[str, list[str] | Float[np.ndarray, " query"]]:
    """One head's cells, a column a key; a token that occurs twice has two places, so each is named with its place."""
    names = [f"{place} {label}" for place, label in enumerate(axis.labels)]
    return {"": names, **dict(zip(names, cells.T, strict=True))}
