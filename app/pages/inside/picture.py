"""One head's steps as a picture: of each step its result, of A and, with a B, of B and B - A beside it."""

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from headlight.app.components import HeadStep, StepMatrix
from headlight.app.components.head_steps import OF_TOKENS
from headlight.app.exports.picture import hatched, label_axis, largest, matrix, origin, scale, write
from headlight.app.exports.style import Palette
from headlight.app.pages.inside.chosen import Inside, on_common_keys, query_of, sides_of
from headlight.app.pages.inside.equations import difference, steps_of
from headlight.app.parts.labels import number
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.selection.chosen import Selection
from headlight.model.measure.difference import union
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, ROW, MATRIX = 6.4, 0.75, 1.7  # inches: a column, a step whose result is a vector, one whose result is a matrix


def draw(comparison: Comparison, chosen: Selection, palette: Palette) -> "Figure":
    """One column a side, one row a step that any of them takes; a token is a row, as in the page's code."""
    from matplotlib.figure import Figure

    sides, columns = _columns(comparison, chosen)
    by_term = {side: {step.term: step for step in steps} for side, (_, steps) in columns.items()}
    terms = functools.reduce(union, map(tuple, by_term.values()))
    heights = [max(_height(steps[term]) for steps in by_term.values() if term in steps) for term in terms]
    figure = Figure(figsize=(WIDTH * len(columns), sum(heights) + 0.5), layout="constrained")
    grid = figure.subplots(len(terms), len(columns), height_ratios=heights, squeeze=False)
    for across, (side, (at, _)) in enumerate(columns.items()):
        labels = [at.run.labels[position] for position in at.window]
        for axes, term in zip(grid[:, across], terms, strict=True):
            if term in by_term[side]:
                _step(axes, by_term[side][term], labels, "" if comparison.b is None else f"{side}:  ", palette)
            else:
                axes.set_axis_off()
    place, at = query_of(comparison, chosen), next(iter(sides.values()))
    figure.suptitle(f"{head_name(at.head)} at {comparison.labels[place]}, place {place}", fontsize=10)
    origin(figure, comparison, palette)
    return figure


def _columns(
    comparison: Comparison, chosen: Selection
) -> tuple[dict[str, Inside], dict[str, tuple[Inside, list[HeadStep]]]]:
    """The steps of each side, with the run whose window they are of."""
    sides = sides_of(comparison, chosen)
    columns = {side: (at, steps_of(at, "row")) for side, at in sides.items()}
    if len(sides) == 2:
        a, b = on_common_keys(comparison, sides["A"], sides["B"])
        columns[DIFFERENCE] = a, difference(steps_of(a, "row"), steps_of(b, "row"))
    return sides, columns


def _height(step: HeadStep) -> float:
    """Inches of a step."""
    result = _result(step)
    return ROW if result is None or result.values.shape[0] == 1 else MATRIX


def _result(step: HeadStep) -> StepMatrix | None:
    """What the step's last equation ends with."""
    if not step.equations:
        return None
    result = step.equations[-1][-1]
    assert isinstance(result, StepMatrix)
    return result


def _step(axes: "Axes", step: HeadStep, labels: Sequence[str], side: str, palette: Palette) -> None:
    result = _result(step)
    axes.set_title(f"{side}{step.title}:  {step.formula or step.note or (result.name if result else '')}", fontsize=8)
    if result is None:
        axes.set_axis_off()
        return
    values = result.values
    known = np.where(np.isfinite(values), values, np.nan)
    signed = bool((known < 0).any())
    hatched(axes, palette)
    image = matrix(axes, known, palette, scale(largest([known]), signed, root=True), signed)
    axes.set_yticks([])
    if result.rows in OF_TOKENS:
        label_axis(axes, "y", labels, MATRIX - 0.4)
    if result.columns == "key":
        axes.set_xticks(range(len(labels)), labels, fontsize=5.5)
        write(image, values[:1], palette, lambda row, key, value: number(value), fontsize=5)
