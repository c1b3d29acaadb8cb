"""The graph as a picture: tokens across, layers upwards, nodes by influence, joined by the strongest edges."""

from typing import TYPE_CHECKING

from headlight.app.exports.picture import origin
from headlight.app.exports.style import Palette
from headlight.app.figures.graph import REST, SYMBOLS, laid_out
from headlight.app.pages.graph.found import Found, side_of, sides_of
from headlight.app.pages.graph.plot import marks_of, rows_of, strongest
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN, ROW = 0.5, 0.42  # inches
SHAPES = {"square": "s", "diamond": "D", "circle": "o", "star": "*", REST: "^"}


def draw(shown: Comparison, chosen: Selection, palette: Palette) -> "Figure":
    """The graph of A, of B, or of both below one another."""
    from matplotlib.figure import Figure

    side = side_of(shown, chosen)
    sides = {name: found for name, found in sides_of(shown, chosen).items() if side in (name, DIFFERENCE)}
    width = max(4.5, *(COLUMN * (found.graph.target.position + 1) + 1 for found in sides.values()))
    height = sum(len(rows_of(found)) * ROW + 1.2 for found in sides.values())
    figure = Figure(figsize=(min(width, 40.0), height), layout="constrained")
    for each, (name, found) in zip(figure.subplots(len(sides), 1, squeeze=False)[:, 0], sides.items(), strict=True):
        _graph(each, found, palette)
        kept = f"{found.pruned.node_share:.0%} of the influence"
        each.set_title(f"{name if shown.b is not None else ''} {found.graph.target_name}, {kept}".strip(), fontsize=9)
    origin(figure, shown, palette)
    return figure


def _graph(axes: "Axes", found: Found, palette: Palette) -> None:
    rows, marks = rows_of(found), marks_of(found)
    tokens = found.graph.tokens[: found.graph.target.position + 1]
    laid = laid_out(marks, len(tokens))
    at = laid.at
    for line in strongest(found, {place: slot for slot, place in enumerate(found.kept)}):
        ends = at[[line.source, line.target]]
        axes.plot(ends[:, 0], ends[:, 1], color=palette.faded, linewidth=0.4, alpha=0.4, zorder=1)
    for mark, (x, y) in zip(marks, at.tolist(), strict=True):
        colour = palette.bars[mark.sign < 0] if mark.sign else palette.faded
        shape = SHAPES[REST if mark.is_rest else SYMBOLS.get(mark.kind, "circle")]
        fill = "none" if mark.is_rest else colour
        axes.scatter([x], [y], s=8 + 90 * mark.size, marker=shape, facecolors=fill, edgecolors=colour, zorder=2)
    axes.set_xticks(laid.columns, tokens, rotation=90, fontsize=7)
    axes.set_yticks(range(len(rows)), rows, fontsize=7)
    axes.set_xlim(0, laid.end)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
