"""The page *Why* as tables in place of pictures."""

from collections.abc import Mapping

import numpy as np
import streamlit as st

from headlight.app.pages.why import figures as numbers
from headlight.app.pages.why import spelled
from headlight.app.parts import part_maps, tables
from headlight.app.parts.parts import heading
from headlight.app.parts.sides import DIFFERENCE, compared, compared_parts
from headlight.model.attribution.explanation import Explained
from headlight.model.attribution.tables import effect_by_name, promoted_columns
from headlight.model.runs.comparison import Comparison


def draw(comparison: Comparison, sides: Mapping[str, Explained], side: str, measured: bool) -> None:
    """Tables of every picture, of A, of B or of B - A; effects of ablating the head once they are measured."""
    if (at := sides.get(side)) is not None:
        st.text("\n".join([spelled.score(comparison, at), spelled.write(at), spelled.effects(at)]))
    else:
        st.text(spelled.write_apart(sides))
    draw_score(sides, side)
    _table("What the cell writes", _promoted(sides, side))
    if measured:
        _table("Does it matter", part_maps.outcome_columns(numbers.changes_of(sides)[side]))
    effects = compared_parts(sides, effect_by_name)[side]
    _table("Direct logit attribution", {"Part": list(effects), "logits": np.array(list(effects.values()))})
    over_layers = compared(sides, numbers.by_layer)[side]
    rows = dict(zip(over_layers.rows, over_layers.values, strict=True))
    _table("Over the layers", {"After layer": over_layers.columns, **rows})
    taken = compared(sides, lambda each: numbers.by_source(comparison, each))[side]
    _table("By source token", {"Token": taken.columns, "logits": taken.values[0]})


def draw_score(sides: Mapping[str, Explained], side: str) -> None:
    """Tables of the score by part of the query, and by part of the key."""
    for columns, title in zip(
        part_maps.side_columns(compared(sides, numbers.score_matrix)[side]),
        ("The score by part of the query", "The score by part of the key"),
        strict=True,
    ):
        _table(title, columns)


def _promoted(sides: Mapping[str, Explained], side: str) -> tables.Columns:
    raised, lowered = (title.removesuffix(" (logits)") for title in part_maps.PROMOTES[side == DIFFERENCE])
    columns = promoted_columns(numbers.promoted_of(sides)[side], next(iter(sides.values())).run.outputs)
    by = [np.array(column, dtype=float) for column in columns[1::2]]
    return {raised: columns[0], "by (logits)": by[0], lowered: columns[2], "by (logits) ": by[1]}


def _table(title: str, columns: tables.Columns) -> None:
    heading(title)
    tables.draw(columns, title)
