"""A table that can be sorted by any of its columns, in a file."""

from collections.abc import Iterable, Mapping
from typing import Any

from headlight.app.components import Column, row_table


def file_table(title: str, columns: Mapping[str, Iterable[Any]]) -> None:
    """Columns by their names; a cell is text, several texts, a number or nothing."""
    shown = [Column(name, list(cells)) for name, cells in columns.items()]
    row_table(shown, title=title, key=f"table {title}", choosable=False, in_file=True)
