"""A matrix of signed numbers with names along both sides: colours, the numbers themselves where there is room."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from headlight.app.components.shared.mount import held, mount, register

_render = register(Path(__file__).parent)


class MapCell(NamedTuple):
    """A chosen cell: its row and its column."""

    row: int
    column: int


@dataclass(frozen=True)
class MapAxis:
    """One side of the matrix: what its places are called together ("query part"), and each by itself."""

    name: str
    labels: Sequence[str]


def chosen_cell(before: MapCell | None, epoch: int, key: str) -> MapCell | None:
    """What the component that is about to be drawn will return."""
    value = held(key, epoch, before)
    return None if value is None else MapCell(*value)


def signed_map(
    values: Float[np.ndarray, "row column"],
    rows: MapAxis,
    columns: MapAxis,
    *,
    title: str,
    caption: str = "",
    limit: float | None = None,
    centre: float = 0.0,
    lacks: str = "nothing there",
    sums: bool = False,
    choosable: bool = False,
    chosen: MapCell | None = None,
    epoch: int = 0,
    key: str,
) -> MapCell | None:
    """Blue above `centre`, orange below, nothing where there is no number; returns the cell chosen by click or Enter.

    `title` is what the numbers are, with their unit, and `caption` a line above; `lacks` says why a cell has none. The
    colours end at `limit` from the centre, or at the number farthest from it. With `sums` the last row and column are
    those of all others, and stand apart. `chosen` counts when `epoch` is new, afterwards the user's own choice does.
    """
    value = mount(
        _render,
        key=key,
        group=key,
        props={
            "rows": list(rows.labels),
            "columns": list(columns.labels),
            "names": [rows.name, columns.name],
            "title": title,
            "caption": caption,
            "limit": limit,
            "centre": centre,
            "lacks": lacks,
            "sums": sums,
            "choosable": choosable,
        },
        arrays={"values": values.astype(np.float32)},
        value=chosen,
        epoch=epoch,
    )
    if value is None or value[0] >= len(rows.labels) or value[1] >= len(columns.labels):
        return None
    return MapCell(*value)
