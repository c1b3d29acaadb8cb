"""The page *Weights* as a file: tables that can be sorted, and the maps of earlier heads."""

from collections.abc import Sequence
from typing import Any

from app import weights
from app.components.shared.mount import recorded
from app.csv_files import Cell
from app.exports.numbers.weights import listed, looked_up
from app.exports.pages.document import document
from app.exports.pages.sorted_table import sorted_table
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.parts import name
from app.views.tables import Columns
from app.views.weight_tables import (
    above_random,
    compositions_of,
    directions_table,
    farthest,
    pairs_table,
    partners_tables,
    strengths_table,
    weights_of,
)
from app.views.weights import called, draw_map


def page(shown: Shown, chosen: Selection) -> bytes:
    """A file in which every pair, every direction and every earlier head tells its numbers."""
    of = weights_of(shown, chosen)
    pairs, token = weights.pairs(of.key), looked_up(of.run, chosen)
    where = f" in {listed(of)}" if of.compares else ""
    with recorded() as mounted:
        sorted_table(f"Highest pairs of all{where}", _cells(pairs_table(of, pairs.highest)))
        sorted_table(f"Lowest pairs of all{where}", _cells(pairs_table(of, pairs.lowest)))
        for title, columns in ({} if token is None else partners_tables(of, token)).items():
            sorted_table(title, _cells(columns))
        if of.compares:
            sorted_table("Singular values", _cells(strengths_table(of)))
        sorted_table(f"Singular directions{where}", _cells(directions_table(of, weights.directions(of.key))))
        if of.head[0]:
            above = above_random(compositions_of(of))
            for side, maps in above.items():
                for through in weights.THROUGH:
                    key = f"composition_{through}_{side}"
                    draw_map(maps[through], called(through, side, of), farthest(above), key)
    title = f"Weights of {name(of.head)}, {of.kind.upper()} circuit,"
    return document(title, shown if of.compares else Shown(shown.a), mounted, "plain", tokens=False)


def _cells(columns: Columns) -> dict[str, Sequence[Cell]]:
    """Lists of tokens as one text, and nothing for what is not a number."""

    def cell(value: Any) -> Cell:
        return "  ".join(value) if isinstance(value, list) else None if value != value else value

    return {title: list(map(cell, values)) for title, values in columns.items()}
