"""Rows under named columns: sorted by any of them, one row chosen."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from app.components.shared.mount import mount, register

_render = register(Path(__file__).parent)


@dataclass(frozen=True)
class Column:
    """A name, the cells under it (None where nothing is known), the decimals of its numbers, and what explains it."""

    name: str
    cells: Sequence[str | int | float | None]
    decimals: int = 0
    help: str = ""


def row_table(columns: Sequence[Column], *, title: str, epoch: int = 0, key: str, choosable: bool = True) -> int | None:
    """A table that the user sorts by its columns' names; returns the place of the chosen row in the order given.

    The choice, and with it the place, lasts as long as `epoch` does; rows that are not `choosable` are only sorted. The
    first column is the one that gets the room that the others leave.
    """
    chosen = mount(
        _render,
        key=key,
        group=key,
        props={
            "title": title,
            "choosable": choosable,
            "columns": [{"name": each.name, "decimals": each.decimals, "help": each.help} for each in columns],
        },
        arrays={f"cells{place}": _json(each.cells) for place, each in enumerate(columns)},
        epoch=epoch,
    )
    return chosen if chosen is not None and chosen < len(columns[0].cells) else None


def _json(cells: Sequence[str | int | float | None]) -> UInt8[np.ndarray, " byte"]:
    """As an array, because the browser holds arrays: a column is sent again only when a cell of it has changed."""
    return np.frombuffer(json.dumps(list(cells), allow_nan=False).encode(), np.uint8)
