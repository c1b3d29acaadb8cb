"""Plots of the page *Why*: promoted tokens, and effects of interventions."""

from collections.abc import Mapping

from headlight.app.pages.why import figures as numbers
from headlight.app.parts import part_maps, part_plots
from headlight.app.parts.charts import Rows
from headlight.app.parts.sides import DIFFERENCE
from headlight.model.attribution.explanation import Explained
from headlight.model.runs.comparison import Comparison


def promoted(comparison: Comparison, sides: Mapping[str, Explained], side: str) -> Rows:
    """Tokens that the cell's write promotes, and those that it suppresses: in A, in B or by B − A."""
    names, tokens = (sides.get(side) or sides["B"]).run.outputs, numbers.promoted_of(sides)[side]
    titles = part_maps.PROMOTES[side == DIFFERENCE]
    return [[plot] for plot in part_plots.promoted(names, tokens, titles, _named(comparison, side))]


def outcomes(comparison: Comparison, sides: Mapping[str, Explained], side: str) -> Rows:
    """Measured effects without the cell: of A, B or B − A."""
    return [[part_plots.outcomes(numbers.changes_of(sides)[side], _named(comparison, side))]]


def _named(comparison: Comparison, side: str) -> str:
    return f", {side}" if comparison.b is not None else ""
