"""A table that can be sorted by any of its columns; for files alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from headlight.app.components.shared.mount import mount, register
from headlight.app.exports.csv_files import Cell

_render = register(Path(__file__).parent)


def sorted_table(title: str, columns: Mapping[str, Sequence[Cell]], *, falling: int | None = None) -> None:
    """Columns by their names, in the order given or falling by one of them."""
    mount(
        _render,
        key=f"table {title}",
        group="prompts",
        props={"title": title, "columns": [{"name": name, "cells": list(cells)} for name, cells in columns.items()]},
        arrays={},
        value=falling,
    )
