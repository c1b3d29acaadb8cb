"""The chosen heads' attention, of A or of A, B and B - A."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headlight.app.exports.picture import Colours, flat, hatched, label_axis, largest, maps, origin
from headlight.app.exports.style import Palette
from headlight.app.pages.attention.choices import Choices
from headlight.app.parts.first_heads import clearest, heads_of
from headlight.app.selection.chosen import Selection
from headlight.model.attention import fields
from headlight.model.attention.axis import Axis, axis_of
from headlight.model.attention.fields import SIGNED, How
from headlight.model.attention.tables import cells_of
from headlight.model.measure.difference import DIFFERENCE
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANEL, MAX_PANEL = 2.5, 5.0  # inches
PITCH = 0.1  # inches that a token's label wants
ACROSS = 3  # panels beside each other, of A alone


@dataclass(frozen=True)
class Panel:
    """One heatmap: whose it is, and which of the axes' labels stand beside it."""

    slot: int
    head: int
    side: str
    left: bool
    below: bool


def draw(comparison: Comparison, chosen: Selection, palette: Palette) -> "Figure":
    """One heatmap a head (row = query, column = key); with a B three. Where no head is chosen, the clearest ones."""
    from matplotlib.figure import Figure

    heads, own = heads_of(comparison, chosen) or clearest(comparison), chosen.choices_of(Choices)
    how, axis = own.how, axis_of(comparison, own.unit, chosen.align)
    cells = {side: measure.values.numpy() for side, measure in cells_of(comparison, heads, how, axis).items()}
    columns = len(cells) if comparison.b is not None else min(ACROSS, len(heads))
    panels = _panels(len(heads), list(cells), columns)
    rows = -(-len(panels) // columns)
    size = min(MAX_PANEL, max(PANEL, PITCH * len(axis.labels)))
    figure = Figure(figsize=(size * columns + 0.7, size * rows + 1.1), layout="constrained")
    grid = list(figure.subplots(rows, columns, squeeze=False).flat)
    at = list(zip(panels, grid, strict=False))
    drawn = [(axes, cells[panel.side][panel.head], _colours(panel, cells, how, chosen)) for panel, axes in at]
    maps(figure, drawn, palette)
    for panel, axes in at:
        hatched(axes, palette)
        flat(axes, palette, *_absent(axis, panel.side))
        axes.set_box_aspect(1)
        axes.set_title(
            head_name(heads[panel.head]) + ("" if comparison.b is None else f"   {panel.side.replace('-', '−')}")
        )
        label_axis(axes, "y", axis.labels if panel.left else [], size)
        label_axis(axes, "x", axis.labels if panel.below else [], size)
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    origin(figure, comparison, palette)
    return figure


def _panels(n_heads: int, sides: list[str], columns: int) -> list[Panel]:
    places = [(head, side) for head in range(n_heads) for side in sides]
    return [
        Panel(slot, head, side, slot % columns == 0, slot + columns >= len(places))
        for slot, (head, side) in enumerate(places)
    ]


def _absent(axis: Axis, side: str) -> tuple[list[int], list[int]]:
    """The rows and columns of tokens that a run lacks; B - A lacks only rows, since a missing key has weight 0."""
    if side == DIFFERENCE:
        return [place for place, kind in enumerate(axis.presence) if kind in ("a", "b")], []
    places = axis.positions["AB".index(side)]
    absent = [place for place, position in enumerate(places) if position is None]
    return absent, absent


def _colours(panel: Panel, cells: dict[str, np.ndarray], how: How, chosen: Selection) -> Colours:
    """One scale for A and B and one for B - A, or one for each panel."""
    difference, own = panel.side == DIFFERENCE, cells[panel.side][panel.head]
    title = f"{'B − A: ' if difference else ''}{fields.title(how.show)}"
    root = chosen.scale == "sqrt" and how.show != "score"
    if chosen.own_scale:
        limit = largest([own])
    elif difference:
        limit = largest([cells[DIFFERENCE]])
    elif how.show == "weight":
        limit = 1.0
    else:
        limit = largest(values for side, values in cells.items() if side != DIFFERENCE)
    return Colours(title, limit, difference or how.show in SIGNED, root, panel.slot if chosen.own_scale else None)
