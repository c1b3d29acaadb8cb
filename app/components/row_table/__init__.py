"""Rows under named columns: sorted by any of them, one row chosen."""

from collections.abc import Sequence
from dataclasses import dataclass

from headlight.app.components.shared.mount import mount, register
from headlight.app.components.shared.packing import json_array

_render = register(__file__)


Cell = str | int | float | Sequence[str] | None


@dataclass(frozen=True)
class Column:
    """Column: a name and the cells under it, with its explanation.

    A cell is text, several texts side by side, a number, or None or NaN where nothing is known. Numbers have so many
    `decimals`, or where that is None as many as three digits of the largest have, and two digits where they would read
    as zero; a plus sign above zero if they are `signed`; and text `after` them.
    """

    name: str
    cells: Sequence[Cell]
    decimals: int | None = None
    help: str = ""
    signed: bool = False
    after: str = ""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows under named columns; `title` is read by screen readers, and `caption` is a line above."""

    columns: Sequence[Column]
    title: str
    caption: str = ""


def row_table(
    drawn: Table,
    *,
    epoch: int = 0,
    key: str,
    choosable: bool = True,
    whole: bool = False,
    in_file: bool = False,
) -> int | None:
    """A table that the user sorts by its columns' names; returns the chosen row's index in the original order.

    The choice, and with it the place, lasts as long as `epoch` does; rows that are not `choosable` are only sorted. The
    column with the longest texts gets the room that the others leave. Beyond ten rows it scrolls, unless all of it, the
    `whole`, is to be seen. In a file all rows are on the page, where the browser's search finds them.
    """
    looks = ("name", "decimals", "help", "signed", "after")
    chosen = mount(
        _render,
        key=key,
        props={
            "title": drawn.title,
            "caption": drawn.caption,
            "choosable": choosable,
            "whole": whole,
            "inFile": in_file,
            "columns": [{look: getattr(column, look) for look in looks} for column in drawn.columns],
        },
        arrays={f"cells{place}": json_array(_known(column.cells)) for place, column in enumerate(drawn.columns)},
        epoch=epoch,
    )
    return chosen if chosen is not None and chosen < len(drawn.columns[0].cells) else None


def _known(cells: Sequence[Cell]) -> list[Cell]:
    """The cells with None in place of NaN, which is no JSON."""
    return [None if cell != cell else cell for cell in cells]
