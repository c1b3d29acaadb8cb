"""The chosen heads' attention between source and target, of two translations as A, B and B - A."""

from typing import TYPE_CHECKING

from headlight.app.exports.picture import Colours, hatched, label_axis, largest, maps, origin
from headlight.app.exports.style import Palette
from headlight.app.pages.translate.choices import Choices
from headlight.app.pages.translate.heads import FIRST_HEADS, chosen_of
from headlight.app.selection.chosen import Selection
from headlight.model.decoding.translations import Translations, clearest
from headlight.model.measure.difference import DIFFERENCE, sides_of
from headlight.model.runs.edits import head_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANEL, MAX_PANEL = 2.5, 5.0  # inches
PITCH = 0.16  # inches that a token's label wants
ACROSS = 3  # panels beside each other


def draw(found: Translations, chosen: Selection, palette: Palette) -> "Figure":
    """One heatmap a head and side (row = query, column = key). Where no head is chosen, the clearest ones."""
    own = chosen.choices_of(Choices)
    from matplotlib.figure import Figure

    heads = chosen_of(found, chosen) or clearest(found, own.attends, FIRST_HEADS)
    sides = sides_of(found.b is not None)
    cells = {name: found.cells(side, own.attends, own.rows).numpy() for name, side in sides.items()}
    wanted = [(head, side) for head in heads for side in sides]
    down, across = (axis.labels for axis in found.axes(own.attends, own.rows))
    columns = min(ACROSS, len(wanted))
    rows = -(-len(wanted) // columns)
    width, height = (min(MAX_PANEL, max(PANEL, PITCH * len(labels))) for labels in (across, down))
    figure = Figure(figsize=(width * columns + 0.9, height * rows + 1.1), layout="constrained")
    grid = list(figure.subplots(rows, columns, squeeze=False).flat)
    differences = [cells[side][head] for head, side in wanted if side == DIFFERENCE]
    drawn = []
    for slot, (at, (head, side)) in enumerate(zip(grid, wanted, strict=False)):
        signed, values = side == DIFFERENCE, cells[side][head]
        limit = largest([values]) if chosen.own_scale else largest(differences) if signed else 1.0
        called, alone = f"attention weight{', B − A' if signed else ''}", slot if chosen.own_scale else None
        drawn.append((at, values, Colours(called, limit, signed, chosen.scale == "sqrt", alone)))
        hatched(at, palette)
        at.set_title(f"{head_name(head)}{'' if found.b is None else f', {side}'}".replace("-", "−"))
        label_axis(at, "y", down if slot % columns == 0 else [], height)
        label_axis(at, "x", across if slot + columns >= len(wanted) else [], width)
    maps(figure, drawn, palette)
    for at in grid[len(wanted) :]:
        at.set_axis_off()
    origin(figure, found, palette)
    return figure
