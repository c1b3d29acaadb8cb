"""Plots of the page *Why*: promoted tokens, and effects of interventions."""

from collections.abc import Mapping

from headlight.app.pages.why import figures as numbers
from headlight.app.parts import part_maps, part_plots
from headlight.app.parts.charts import Rows
from headlight.app.parts.sides import DIFFERENCE
from headlight.model.attribution.explanation import Explained
from headlight.model.runs.comparison import Comparison


def rows(comparison: Comparison, sides: Mapping[str, Explained], side: str, measured: bool = True) -> Rows:
    """Write of the cell, and the measured effect without it: of A, B or B − A."""
    named = f", {side}" if comparison.b is not None else ""
    outcomes = [part_plots.outcomes(numbers.changes_of(sides)[side], named)] if measured else []
    names, tokens = (sides.get(side) or sides["B"]).run.outputs, numbers.promoted_of(sides)[side]
    promoted = part_plots.promoted(names, tokens, part_maps.PROMOTES[side == DIFFERENCE], named)
    return [[plot] for plot in (*promoted, *outcomes)]
