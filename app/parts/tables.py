"""Pictures as plain tables, for screen readers and for reading off exact values."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st
from jaxtyping import Float, Shaped

Columns = dict[str, Sequence[Any] | np.ndarray]


def draw(table: Mapping[str, Iterable[Any]], alt: str) -> None:
    """Draw a table with figures to four digits; `alt` describes it to a screen reader."""
    columns = {name: cells if isinstance(cells, np.ndarray) else list(cells) for name, cells in table.items()}
    numbers = [name for name, values in columns.items() if np.asarray(values).dtype.kind == "f"]
    config = {name: st.column_config.NumberColumn(name, format="%.4g") for name in numbers}
    st.dataframe(columns, column_config=config, hide_index=True, placeholder="–", alt=alt)


def of_cells(
    sides: Mapping[str, Shaped[np.ndarray, "layer place"]], layers: Sequence[str], tokens: Sequence[str]
) -> Columns:
    """A map of layers and places as one row a cell, place by place; a column a side."""
    return {
        "Place": np.repeat(np.arange(len(tokens)), len(layers)),
        "Token": [token for token in tokens for _ in layers],
        "After layer": [*layers] * len(tokens),
        **{name: filled(values, len(layers)).T.ravel() for name, values in sides.items()},
    }


def of_pattern(
    cells: Float[np.ndarray, "query key"], queries: Sequence[str], keys: Sequence[str]
) -> dict[str, list[str] | Float[np.ndarray, " query"]]:
    """One head's cells, a column a key; a token that occurs twice has two places, so each is named with its place."""
    rows, columns = ([f"{place} {label}" for place, label in enumerate(labels)] for labels in (queries, keys))
    return {"": rows, **dict(zip(columns, cells.T, strict=True))}


def of_rows(heading: str, names: Sequence[str], sides: Mapping[str, Shaped[np.ndarray, " row"]]) -> Columns:
    """One row a name, a column a side."""
    return {heading: list(names), **{side: filled(values, len(names)) for side, values in sides.items()}}


def filled(values: Shaped[np.ndarray, "layer *rest"], n_layers: int) -> Shaped[np.ndarray, "all_layers *rest"]:
    """With empty rows for the layers that another run has and this one lacks."""
    empty = None if values.dtype == object else np.nan
    return np.concatenate([values, np.full((n_layers - len(values), *values.shape[1:]), empty, values.dtype)])


CELL_WIDTH = 95  # all of it fits: a number cut off is another one


CELL = st.column_config.NumberColumn(format="%.6f", width=CELL_WIDTH)
