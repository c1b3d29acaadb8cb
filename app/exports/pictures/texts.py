"""A table as a picture: rows of text under their columns' names."""

from typing import TYPE_CHECKING, Any

from headlight.app.components import Column, Table
from headlight.app.exports.pictures.axes import LETTER, number
from headlight.app.exports.style import Palette

if TYPE_CHECKING:
    from matplotlib.figure import SubFigure

LINE = 0.19  # inches
MAX_LETTERS = 64  # of a cell


def size(drawn: Table) -> tuple[float, float]:
    """Inches across and down."""
    return sum(map(_width, drawn.columns)), LINE * (len(drawn.columns[0].cells) + 1) + 0.4


def draw(drawn: Table, figure: "SubFigure", palette: Palette) -> None:
    """Its rows from the top down."""
    axes = figure.subplots()
    axes.axis("off")
    axes.set_title(drawn.title, fontsize=8)
    whole, n_lines, left = sum(map(_width, drawn.columns)), len(drawn.columns[0].cells) + 1, 0.0
    for column in drawn.columns:
        for line, text in enumerate([column.name, *(_text(column, cell) for cell in column.cells)]):
            colour = palette.text if line else palette.faded
            axes.text(left, 1 - line / n_lines, text, fontsize=7, va="top", color=colour)
        left += _width(column) / whole


def _width(column: Column) -> float:
    longest = max(len(_text(column, cell)) for cell in (column.name, *column.cells))
    return LETTER * (longest + 3)


def _text(column: Column, cell: Any) -> str:
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, str):
        return cell[:MAX_LETTERS]
    if isinstance(cell, int | float):
        return number(cell, ".4g" if column.decimals is None else f"{'+' * column.signed}.{column.decimals}f")
    return "  ".join(cell)[:MAX_LETTERS]
