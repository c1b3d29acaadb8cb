"""The graph as a picture: its marks by row and column, joined by lines."""

from typing import TYPE_CHECKING

from headlight.app.exports.picture import origin
from headlight.app.exports.style import Palette
from headlight.app.figures.graph import REST, SYMBOLS, Scene, laid_out
from headlight.app.pages.graph.plot import scenes
from headlight.app.parts.pair import said_of_cap
from headlight.app.selection.chosen import Selection
from headlight.model.runs.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN, ROW = 0.5, 0.42  # inches
SHAPES = {"square": "s", "diamond": "D", "circle": "o", "star": "*", REST: "^"}


def draw(comparison: Comparison, chosen: Selection, palette: Palette) -> "Figure":
    """The graph of A, of B, or of both below one another; or the circuit."""
    from matplotlib.figure import Figure

    drawn = scenes(comparison, chosen)
    width = max(4.5, *(COLUMN * len(scene.columns) + 1 for scene in drawn))
    height = sum(len(scene.rows) * ROW + 1.2 for scene in drawn)
    figure = Figure(figsize=(min(width, 40.0), height), layout="constrained")
    for each, scene in zip(figure.subplots(len(drawn), 1, squeeze=False)[:, 0], drawn, strict=True):
        _graph(each, scene, palette)
        each.set_title(scene.title, fontsize=9)
    origin(figure, comparison, palette, said_of_cap(comparison.runs))
    return figure


def _graph(axes: "Axes", scene: Scene, palette: Palette) -> None:
    laid = laid_out(scene.marks, len(scene.columns))
    for line in scene.faint:
        ends = laid.at[[line.source, line.target]]
        axes.plot(ends[:, 0], ends[:, 1], color=palette.faded, linewidth=0.4, alpha=0.4, zorder=1)
    for line in scene.lines:
        ends = laid.at[[line.source, line.target]]
        axes.plot(ends[:, 0], ends[:, 1], color=palette.bars[line.sign < 0], linewidth=0.9, alpha=0.8, zorder=1)
    for mark, (x, y) in zip(scene.marks, laid.at.tolist(), strict=True):
        colour = palette.bars[mark.sign < 0] if mark.sign else palette.faded
        shape = SHAPES[REST if mark.is_rest else SYMBOLS.get(mark.kind, "circle")]
        fill = "none" if mark.is_rest else colour
        axes.scatter([x], [y], s=8 + 90 * mark.size, marker=shape, facecolors=fill, edgecolors=colour, zorder=2)
    axes.set_xticks(laid.columns, scene.columns, rotation=90, fontsize=7)
    axes.set_yticks(range(len(scene.rows)), scene.rows, fontsize=7)
    axes.set_xlim(0, laid.end)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
