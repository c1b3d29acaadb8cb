"""The page *Why* as a picture: a column a side, with the score's parts, the map of effects and their sum."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from headlight.app.exports.picture import Colours, label_axis, maps, origin, write
from headlight.app.exports.style import Palette
from headlight.app.pages.why import figures as numbers
from headlight.app.pages.why import spelled
from headlight.app.pages.why.chosen import sides_of
from headlight.app.pages.why.figures import SUM, condensed, fall, limit_of
from headlight.app.parts.first_heads import head_of
from headlight.app.parts.matrix import Matrix
from headlight.app.parts.pair import pair_of, place_of, said_of_cap
from headlight.app.parts.sides import compared, compared_parts
from headlight.app.selection.chosen import Selection
from headlight.model.attribution.tables import effect_by_name
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 5.6  # inches of a column
HEIGHTS = (3.6, 2.6, 3.4)  # inches: the score's parts, the map of effects, the waterfall
SMALLEST = 0.005  # that is written with two digits
MAX_WRITTEN = 14  # columns whose cells have room for a number


def draw(comparison: Comparison, chosen: Selection, palette: Palette) -> "Figure":
    """One column for A; with a B one for each of A, B and B - A."""
    from matplotlib.figure import Figure

    sides, pair = sides_of(comparison, chosen)[0], pair_of(comparison, chosen)
    scores = compared(sides, numbers.score_matrix)
    parts = {side: condensed(matrix) for side, matrix in scores.items()}
    maps = compared(sides, numbers.effect_map)
    effects = compared_parts(sides, effect_by_name)
    figure = Figure(figsize=(WIDTH * max(1, len(scores)), sum(HEIGHTS) + 0.6), layout="constrained")
    grid = figure.subplots(len(HEIGHTS), max(1, len(scores)), height_ratios=HEIGHTS, squeeze=False)
    head, place = head_name(head_of(comparison, chosen)), place_of(comparison, chosen)
    target, distractor = comparison.a.tokenizer.labels([pair.target, pair.distractor])
    for across, side in enumerate(scores):
        called = "" if comparison.b is None else f"{side}:  "
        score, effect, bars = grid[:, across]
        _cells(figure, score, parts, side, "score", palette)
        score.set_title(f"{called}the score of {head} in parts: query's down, key's across")
        if side in sides and (caps := spelled.caps(sides[side])):
            score.set_xlabel(f"Sums are before the soft caps: {caps}.", fontsize=6.5)
        _cells(figure, effect, maps, side, "logits", palette)
        effect.set_title(f"{called}direct effect on {target} − {distractor} after place {place}")
        _fall(bars, effects[side], palette)
        bars.set_title(f"{called}the same, added up (logits)")
    origin(figure, comparison, palette, said_of_cap(comparison.runs))
    return figure


def _cells(figure: "Figure", axes: "Axes", sides: Mapping[str, Matrix], side: str, unit: str, palette: Palette) -> None:
    """A signed map, with its numbers where there is room."""
    shown, limit = sides[side], limit_of(sides, side)
    (image,) = maps(figure, [(axes, shown.values, Colours(unit, limit, signed=True, root=True))], palette)
    label_axis(axes, "x", shown.columns, WIDTH - 1.4)
    label_axis(axes, "y", shown.rows, 2.0)
    if len(shown.columns) > MAX_WRITTEN:
        return
    sums = np.array([[SUM in (row, column) for column in shown.columns] for row in shown.rows])
    for values, weight in (
        (np.where(sums, np.nan, shown.values), "normal"),
        (np.where(sums, shown.values, np.nan), "bold"),
    ):
        write(image, values, palette, _digits, fontsize=5, fontweight=weight)


def _digits(row: int, column: int, value: float) -> str:
    return f"{value:.2f}".replace("-", "−") if abs(value) >= SMALLEST else "0"


def _fall(axes: "Axes", effects: Mapping[str, float], palette: Palette) -> None:
    steps = fall(effects)
    for row, step in enumerate(steps):
        more = step.end >= step.start
        axes.barh(row, step.end - step.start, left=step.start, color=palette.bars[0 if more else 1])
    axes.barh(len(steps), steps[-1].end, color=palette.faded)
    axes.set_yticks(range(len(steps) + 1), [*(step.name for step in steps), SUM], fontsize=6)
    axes.invert_yaxis()
    axes.axvline(0, color=palette.border, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
