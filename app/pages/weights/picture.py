"""How far a head's composition with earlier heads is above chance, and its strongest directions, as a picture."""

from typing import TYPE_CHECKING

from headlight.app.exports.picture import Colours, label_axis, largest, maps, origin, write
from headlight.app.exports.style import Palette
from headlight.app.pages.weights.analysis import circuit_of
from headlight.app.pages.weights.exports import listed
from headlight.app.pages.weights.weight_tables import (
    AXES,
    COMPOSITION,
    LETTERS,
    SIGNS,
    Compositions,
    Weights,
    above_random,
    compositions_of,
    weights_of,
)
from headlight.app.selection.chosen import Selection
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name
from headlight.model.weights.head_circuit import THROUGH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, LINE = 9.0, 0.19  # inches: of the picture, and of a line of text
MAX_NUMBERED = 6  # heads in a row whose cells have room for numbers
LONGEST = 64  # characters of a direction's tokens


def draw(comparison: Comparison, chosen: Selection, palette: Palette) -> "Figure":
    """The tokens at both ends of each direction, and under them maps of earlier heads: three, or three a model."""
    from matplotlib.figure import Figure

    of = weights_of(comparison, chosen)
    found, layers = circuit_of(of.key).directions(), of.head[0]
    above = above_random(compositions_of(of)) if layers else {}
    lines = 2 * len(found.strengths.values) + 2
    height = max(1.0, 0.3 * layers) + 0.4
    figure = Figure(figsize=(WIDTH, LINE * lines + height * len(above) + 1.6), layout="constrained")
    where = f", {listed(of)}" if of.compares else ""
    title = f"Weights of {head_name(of.head)}, {of.kind.upper()} circuit{where}"
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    grid = figure.add_gridspec(1 + len(above), 3, height_ratios=[LINE * lines, *[height] * len(above)])
    _directions(figure.add_subplot(grid[0, :]), of, palette)
    if above:
        axes = [[figure.add_subplot(grid[row + 1, column]) for column in range(3)] for row in range(len(above))]
        _maps(figure, axes, above, palette)
    origin(figure, comparison if of.compares else Comparison(of.run), palette)
    return figure


def _directions(axes: "Axes", of: Weights, palette: Palette) -> None:
    """A line an end: its strength, and the tokens on both sides."""
    found = circuit_of(of.key).directions()
    axes.axis("off")
    lines: list[tuple[str, ...]] = [("", "strength", *AXES[of.kind])]
    for place, strength in enumerate(found.strengths.values.tolist()):
        for end, sign in enumerate(SIGNS):
            ids = (each.tokens.values[place, end].tolist() for each in (found.rows, found.columns))
            texts = ("  ".join(of.run.tokenizer.labels(tokens))[:LONGEST] for tokens in ids)
            lines.append((f"{place + 1} {sign}", "" if end else f"{strength:.4g}", *texts))
    for line, cells in enumerate(lines):
        for across, text in zip((0.0, 0.05, 0.14, 0.57), cells, strict=True):
            colour = palette.text if line else palette.faded
            axes.text(across, 1 - line / len(lines), text, fontsize=7, va="top", color=colour)


def _maps(figure: "Figure", rows: "list[list[Axes]]", above: Compositions, palette: Palette) -> None:
    """A row of maps a model, and one of B − A, on one scale."""
    limit = largest(values for maps in above.values() for values in maps.values())
    colours = Colours(COMPOSITION, limit, signed=True, root=False)
    drawn = [
        (axes, by[through], colours)
        for row, by in zip(rows, above.values(), strict=True)
        for axes, through in zip(row, THROUGH, strict=True)
    ]
    names = [(side, through) for side in above for through in THROUGH]
    for image, (side, through) in zip(maps(figure, drawn, palette), names, strict=True):
        values = above[side][through]
        image.axes.set_title(f"{LETTERS[through]}-composition{f', {side}' if len(above) > 1 else ''}", fontsize=8)
        label_axis(image.axes, "x", [f"H{head}" for head in range(values.shape[1])], WIDTH / 3)
        label_axis(image.axes, "y", [f"L{layer}" for layer in range(len(values))], 0.3 * len(values))
        image.axes.tick_params(axis="x", rotation=0)
        if values.shape[1] <= MAX_NUMBERED:
            write(image, values, palette, lambda layer, head, value: f"{value:z.2f}".replace("-", "−"), fontsize=6)
