"""The attention page in numbers: every head's scores, and the chosen heads' cells."""

import numpy as np
import streamlit as st
from jaxtyping import Float
from streamlit.elements.lib.column_types import ColumnConfig

from headlight.app import selection
from headlight.app.components import Several
from headlight.app.pages.attention.head_tables import SINK, draw_scores
from headlight.app.parts import options
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading
from headlight.app.parts.sides import SIDES
from headlight.app.parts.tables import CELL_WIDTH, of_pattern
from headlight.model.attention import fields
from headlight.model.attention.axis import Axis, Unit
from headlight.model.attention.fields import How
from headlight.model.measure.difference import Side
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name

MAX_WIDTH = 400

Columns = dict[str, list[str] | Float[np.ndarray, " row"]]


def draw(comparison: Comparison, chosen: tuple[Head, ...], how: How, axis: Axis, unit: Unit) -> None:
    """The tables that stand for the grid and for the heads beside it."""
    heading("All heads", "attention", "head")
    everyone = options.heads(range(comparison.n_layers), comparison.n_heads)
    draw_scores(comparison, tuple(everyone), axis, "Scores of all heads on this prompt")
    choice = options.tie(
        Several,
        "table_heads",
        "Chosen heads",
        chosen,
        lambda heads: selection.update(heads=heads),
        options=everyone,
        placeholder="Choose heads to see their cells",
        width=260,
    )
    options.row(choice, name="table heads", whole=True)
    now = selection.current()
    sides: list[tuple[Side, str]] = [("a", "")] if comparison.b is None else list(SIDES.items())
    for head in chosen:
        for side, caption in sides:
            heading(f"{head_name(head)} {caption}")
            st.caption(plain(said_of_cells(how, unit)))
            cells = fields.on_axis(comparison, side, head, how, axis).numpy()
            columns = with_sums(cells, axis, how, now.queries, now.keys) | _to_sink(comparison, side, head, how, axis)
            st.dataframe(
                columns,
                column_config={key: _column(key) for key in columns if key},
                hide_index=True,
                placeholder="",
                alt=f"{fields.title(how.show, how.fold)} of {head_name(head)} {caption}: row: query, column: key",
            )


def _to_sink(comparison: Comparison, side: Side, head: Head, how: How, axis: Axis) -> Columns:
    """Column of each query's weight on the head's sink, beside the weights on the run's own tokens."""
    if how != How() or comparison.b is not None or axis.groups != (None,) or len(selection.current().queries) > 1:
        return {}
    shares = fields.to_sink(comparison.a, head)
    return {} if shares is None else {SINK: shares.numpy()}


def said_of_cells(how: How, unit: Unit) -> str:
    """Describe the cells, and why some are empty."""
    note = fields.sink_note(how, unit)
    hidden = f", or hidden ({note})" if note else ""
    return f"{fields.title(how.show, how.fold)}. Row: query. Empty: masked or absent{hidden}."


def _column(key: str) -> ColumnConfig:
    """A number wide enough for its name too, as far as that is no sentence."""
    width = min(MAX_WIDTH, max(CELL_WIDTH, 9 * len(key) + 24))
    return st.column_config.NumberColumn(format="%.6f", width=width, help=plain(key))


def with_sums(
    cells: Float[np.ndarray, "query key"], axis: Axis, how: How, queries: tuple[int, ...], keys: tuple[int, ...]
) -> Columns:
    """Table of cells, preceded by sums over several pinned tokens: a row for queries, a column for keys.

    That is their sum, of scores, which are logarithms, their mean.
    """
    (first, names), *others = of_pattern(cells, axis.labels, axis.labels).items()
    what = "mean" if how.show == "score" else "sum"
    if len(queries) > 1:
        row = _combined(cells[list(queries)], what)
        columns = {key: np.append(value, values) for (key, values), value in zip(others, row, strict=True)}
        return {first: [f"{what} of {len(queries)} queries", *names], **columns}
    got = {f"{what} of {len(keys)} keys": _combined(cells[:, list(keys)].T, what)} if len(keys) > 1 else {}
    return {first: names, **got, **dict(others)}


def _combined(cells: Float[np.ndarray, "pinned other"], what: str) -> Float[np.ndarray, " other"]:
    """Sum or mean over present values; NaN where there is none."""
    known = np.isfinite(cells)
    sums, counts = np.where(known, cells, 0.0).sum(0), known.sum(0)
    values = sums if what == "sum" else sums / np.maximum(counts, 1)
    return np.where(counts > 0, values, np.nan)
