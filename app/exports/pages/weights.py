"""The page *Weights* as a file: tables that can be sorted, and the maps of earlier heads."""

from collections.abc import Sequence
from typing import Any

from app import weights
from app.components.shared.mount import recorded
from app.csv_files import Cell
from app.exports.numbers.weights import looked_up
from app.exports.pages.document import document
from app.exports.pages.sorted_table import sorted_table
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.head_tables import name
from app.views.tables import Columns
from app.views.weight_tables import directions_table, pairs_table, partners_tables, weights_of
from app.views.weights import draw_map


def page(shown: Shown, chosen: Selection) -> bytes:
    """A file in which every pair, every direction and every earlier head tells its numbers."""
    of = weights_of(shown, chosen)
    pairs, token = weights.pairs(*of.key), looked_up(of.run, chosen)
    with recorded() as mounted:
        sorted_table("Highest pairs of all", _cells(pairs_table(of.run, pairs.highest)))
        sorted_table("Lowest pairs of all", _cells(pairs_table(of.run, pairs.lowest)))
        for title, columns in ({} if token is None else partners_tables(of, token)).items():
            sorted_table(title, _cells(columns))
        sorted_table("Singular directions", _cells(directions_table(of, weights.directions(*of.key))))
        if of.head[0]:
            found = weights.compositions(of.run.source.name, of.head)
            for through in weights.THROUGH:
                draw_map(of.run, found, through, f"composition_{through}")
    title = f"Weights of {name(of.head)}, {of.kind.upper()} circuit,"
    return document(title, Shown(of.run), mounted, "plain", tokens=False)


def _cells(columns: Columns) -> dict[str, Sequence[Cell]]:
    """Lists of tokens as one text, and nothing for what is not a number."""

    def cell(value: Any) -> Cell:
        return "  ".join(value) if isinstance(value, list) else None if value != value else value

    return {title: list(map(cell, values)) for title, values in columns.items()}
