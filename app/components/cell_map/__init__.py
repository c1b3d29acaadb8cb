"""A matrix of numbers with names along both sides, as wide as there is room for however many columns it has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float, Shaped

from headlight.app.components.shared.mount import mount, register

_render = register(Path(__file__).parent)


@dataclass(frozen=True)
class CellAxis:
    """One side of the matrix: what its places are called together ("after layer"), and each by itself.

    Where labels may repeat, as tokens do, they are `numbered`: told together with their place.
    """

    name: str
    labels: Sequence[str]
    numbered: bool = False


def cell_map(
    values: Float[np.ndarray, "row column"],
    rows: CellAxis,
    columns: CellAxis,
    *,
    title: str,
    scale: Literal["linear", "log", "signed"] = "linear",
    ends: tuple[float, float] | None = None,
    lacks: str = "nothing there",
    told: Mapping[str, Shaped[np.ndarray, "row column"]] | None = None,
    key: str,
) -> None:
    """A colour for each number, the first row on top; the numbers themselves where there is room for them.

    `title` is what the numbers are, with their unit; `lacks` says why a cell has none. Colours begin at the first of
    the `ends` and go to the second, or `signed` from zero both ways as far; without `ends` to the number that is the
    farthest from zero. Below the first end all look alike. `told` are more numbers of the cell that is pointed at.
    """
    told = told or {}
    mount(
        _render,
        key=key,
        group=key,
        props={
            "rows": vars(rows) | {"labels": list(rows.labels)},
            "columns": vars(columns) | {"labels": list(columns.labels)},
            "title": title,
            "scale": scale,
            "ends": ends or (0.0, float(np.nanmax(np.abs(values), initial=0.0))),
            "lacks": lacks,
            "told": list(told),
        },
        arrays={
            "values": values.astype(np.float32),
            **{f"told{slot}": more.astype(np.float32) for slot, more in enumerate(told.values())},
        },
    )
