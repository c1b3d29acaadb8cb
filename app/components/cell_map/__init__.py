"""A matrix of numbers with names along both sides, as wide as there is room for however many columns it has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Shaped

from headlight.app.components.shared.mount import component_value, mount, register

_render = register(__file__)
Drawn = TypeVar("Drawn")


class MapCell(NamedTuple):
    """A chosen cell: its row and its column."""

    row: int
    column: int


@dataclass(frozen=True)
class CellAxis:
    """One side of the matrix: the name of its places together ("after layer"), and each place's label.

    Where labels may repeat, as tokens do, they are `numbered`: named together with their place.
    """

    name: str
    labels: Sequence[str]
    numbered: bool = False


@dataclass(frozen=True, eq=False)
class CellMap:
    """A colour for each number, the first row on top; NaN is a cell without one.

    `title` is what the numbers are, with their unit, and `caption` a line above; `lacks` says why a cell has none.
    Colours begin at the first of the `ends` and go to the second, or `signed` from the `centre` both ways as far:
    without `ends` to the number farthest from there. Below the first end all look alike. Signed colours follow the
    square root of the distance from the centre. `details` are more numbers of each cell, by name. With `sums` the last
    row and column are those of all others. `texts` stand in the cells of a picture. Where a number is `unsure` only the
    middle of its cell is coloured, and no number stands in it; `unsure_as` says what that means. Without a `bar` an
    earlier map has the colour bar.
    """

    values: Float[np.ndarray, "row column"]
    rows: CellAxis
    columns: CellAxis
    title: str
    caption: str = ""
    scale: Literal["linear", "sqrt", "log", "signed"] = "linear"
    ends: tuple[float, float] | None = None
    centre: float = 0.0
    lacks: str = "nothing there"
    details: Mapping[str, Shaped[np.ndarray, "row column"]] = field(default_factory=dict)
    sums: bool = False
    texts: Sequence[Sequence[str]] | None = None
    unsure: Bool[np.ndarray, "row column"] | None = None
    unsure_as: str = ""
    bar: bool = True

    @property
    def limits(self) -> tuple[float, float]:
        """Ends of the colour scale; those of a signed map are symmetric around its centre."""
        return self.ends or (0.0, float(np.nanmax(np.abs(self.values - self.centre), initial=0.0)))


def bars_once(drawn: Sequence[Drawn]) -> list[Drawn]:
    """The same, but of maps that have the same colours the first alone has a colour bar."""
    seen, changed = set[tuple[Any, ...]](), list[Any]()
    for picture in drawn:
        if isinstance(picture, CellMap):
            colours = picture.scale, picture.limits, picture.centre
            changed.append(replace(picture, bar=colours not in seen))
            seen.add(colours)
        else:
            changed.append(picture)
    return changed


def chosen_cell(before: MapCell | None, epoch: int, key: str) -> MapCell | None:
    """Value that the component will return when it is drawn next."""
    value = component_value(key, epoch, before)
    return None if value is None else MapCell(*value)


def cell_map(
    drawn: CellMap,
    *,
    choosable: bool = False,
    leads_to: str = "",
    chosen: MapCell | None = None,
    epoch: int = 0,
    group: str = "",
    key: str,
) -> MapCell | None:
    """Show the map; returns the cell chosen by click or Enter.

    `chosen` counts when `epoch` is new, afterwards the user's own choice does. Maps of one `group` frame the same cell.
    A choice scrolls to the container whose key it `leads_to`, which what it changes may be in.
    """
    value = mount(
        _render,
        key=key,
        group=group,
        props={
            "rows": vars(drawn.rows) | {"labels": list(drawn.rows.labels)},
            "columns": vars(drawn.columns) | {"labels": list(drawn.columns.labels)},
            "title": drawn.title,
            "caption": drawn.caption,
            "scale": drawn.scale,
            "ends": drawn.limits,
            "centre": drawn.centre,
            "lacks": drawn.lacks,
            "bar": drawn.bar,
            "details": list(drawn.details),
            "sums": drawn.sums,
            "unsureAs": drawn.unsure_as,
            "choosable": choosable,
            "leadsTo": leads_to,
        },
        arrays={
            "values": drawn.values.astype(np.float32),
            **{f"details{slot}": more.astype(np.float32) for slot, more in enumerate(drawn.details.values())},
            **({} if drawn.unsure is None else {"unsure": drawn.unsure.astype(np.uint8)}),
        },
        value=chosen,
        epoch=epoch,
    )
    if value is None or value[0] >= len(drawn.rows.labels) or value[1] >= len(drawn.columns.labels):
        return None
    return MapCell(*value)
