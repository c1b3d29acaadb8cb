"""One head's steps as a picture: of each step its result."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from headlight.app.components import HeadStep, HeadSteps, StepMatrix
from headlight.app.components.head_steps import OF_TOKENS
from headlight.app.exports.pictures.axes import label_axis, matrix, scale, short, write
from headlight.app.exports.style import Palette
from headlight.app.figures.text import token_names
from headlight.app.parts.labels import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

WIDTH, ROW, MATRIX = 6.4, 0.75, 1.7  # inches: a column, a step whose result is a vector, one whose result is a matrix


def size(drawn: HeadSteps) -> tuple[float, float]:
    """Inches across and down."""
    return WIDTH, sum(map(_height, drawn.steps))


def columns(drawn: HeadSteps, n_columns: int) -> list[HeadSteps]:
    """The steps in columns that are about equally high, one after the other."""
    ends = np.cumsum([_height(step) for step in drawn.steps])
    column = np.ceil(ends / ends[-1] * n_columns - 0.5 / len(ends)).astype(int).clip(1, n_columns)
    parts = [[step for step, at in zip(drawn.steps, column, strict=True) if at == place] for place in np.unique(column)]
    return [replace(drawn, steps=part) for part in parts]


def of_query(drawn: HeadSteps) -> HeadSteps:
    """The steps that result in one vector, or one number a key."""
    return replace(drawn, steps=[step for step in drawn.steps if _height(step) == ROW])


def draw(drawn: HeadSteps, figure: "SubFigure", palette: Palette) -> None:
    """A row a step; a token is a row of its matrices, as in the page's code."""
    heights = [_height(step) for step in drawn.steps]
    rows = figure.subplots(len(drawn.steps), 1, height_ratios=heights, squeeze=False)[:, 0]
    side = f"{drawn.title}:  " if drawn.title else ""
    for axes, step in zip(rows, drawn.steps, strict=True):
        _step(axes, step, drawn.keys.labels, side, palette)


def _height(step: HeadStep) -> float:
    result = _result(step)
    return ROW if result is None or result.values.shape[0] == 1 else MATRIX


def _result(step: HeadStep) -> StepMatrix | None:
    """Result of the step's last equation."""
    if not step.equations:
        return None
    result = step.equations[-1][-1]
    assert isinstance(result, StepMatrix)
    return result


def _step(axes: "Axes", step: HeadStep, labels: "Sequence[str]", side: str, palette: Palette) -> None:
    result = _result(step)
    if not step.title:  # room for a step that another side takes
        axes.set_axis_off()
        return
    axes.set_title(f"{side}{step.title}:  {step.formula or step.note or (result.name if result else '')}", fontsize=8)
    if result is None:
        axes.set_axis_off()
        return
    known = np.where(np.isfinite(result.values), result.values, np.nan)
    signed = bool((known < 0).any())
    limit = float(np.nanmax(np.abs(known), initial=0.0)) or 1.0
    image = matrix(axes, known, palette, scale(limit, signed, root=True), signed)
    axes.set_yticks([])
    if result.rows in OF_TOKENS:
        label_axis(axes, "y", labels, MATRIX - 0.6)
    if result.columns == "key":
        axes.set_xticks(range(len(labels)), [short(name) for name in token_names(labels)], fontsize=5.5)
        write(image, result.values[:1], palette, lambda row, key, value: number(value), fontsize=5)
