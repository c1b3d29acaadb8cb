"""The chosen heads' attention between source and target."""

from typing import TYPE_CHECKING

import numpy as np

from app.exports.numbers.translate import heads_of
from app.exports.pictures.parts import colour_bar, hatched, label_axis, matrix, origin
from app.exports.pictures.scales import scale, ticks
from app.exports.pictures.style import Palette
from app.selection.chosen import Selection
from app.translation import Translation
from app.views.translate import axes as names_of
from app.views.translate import clearest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANEL, LARGEST_PANEL = 2.5, 5.0  # inches
PITCH = 0.16  # inches that a token's label wants
ACROSS = 3  # panels beside each other


def draw(found: Translation, chosen: Selection, palette: Palette) -> "Figure":
    """One heatmap a head (row = query, column = key). Where no head is chosen, the clearest ones."""
    from matplotlib.figure import Figure

    attended = found.attention[chosen.attends]
    heads = heads_of(found, chosen) or clearest(attended)
    down, across = names_of(found, chosen.attends, chosen.rows)
    columns = min(ACROSS, len(heads))
    rows = -(-len(heads) // columns)
    width, height = (min(LARGEST_PANEL, max(PANEL, PITCH * len(labels))) for labels in (across, down))
    figure = Figure(figsize=(width * columns + 0.9, height * rows + 1.1), layout="constrained")
    grid = list(figure.subplots(rows, columns, squeeze=False).flat)
    root = chosen.scale == "sqrt"
    cells = [attended.pattern[head].masked_fill(attended.masked, np.nan).numpy() for head in heads]
    limits = [float(np.nanmax(each)) if chosen.own_scale else 1.0 for each in cells]
    for slot, (head, values, limit) in enumerate(zip(heads, cells, limits, strict=True)):
        at = grid[slot]
        image = matrix(at, values, palette, scale(limit, False, root=root), False)
        hatched(at, palette)
        at.set_title(f"L{head[0]}H{head[1]}")
        label_axis(at, "y", down if slot % columns == 0 else [], height)
        label_axis(at, "x", across if slot + columns >= len(heads) else [], width)
        if chosen.own_scale:
            colour_bar(figure, image, [at], "attention weight", ticks(limit, False, root=root))
    if not chosen.own_scale:
        colour_bar(figure, image, grid, "attention weight", ticks(1.0, False, root=root))
    for at in grid[len(heads) :]:
        at.set_axis_off()
    origin(figure, found, palette)
    return figure
