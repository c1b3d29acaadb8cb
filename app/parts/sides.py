"""A measure of A, of B and their difference: on the axes that the page shows, with remarks where one lacks it."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import streamlit as st
from jaxtyping import Float, Shaped

from headlight.app.parts.markdown import plain
from headlight.app.selection.chosen import Selection
from headlight.model.measure import Measure, difference
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run

Side = TypeVar("Side")
Value = TypeVar("Value")

DIFFERENCE = "B − A"
SIDES: dict[difference.Side, str] = {"a": "A", "b": "B", "difference": DIFFERENCE}


def on_places(comparison: Comparison, measure: Callable[[Run], Measure]) -> dict[str, Float[np.ndarray, "row place"]]:
    """A measure [row, pos] of each run, by the run's name, on the page's places; NaN where a run has no token."""
    return {
        side: placed(measure(run).values.float().numpy(), comparison.positions(run), np.nan)
        for side, run in comparison.sides.items()
    }


def placed(
    values: Shaped[np.ndarray, "row pos *rest"], positions: Sequence[int | None], fill: float
) -> Shaped[np.ndarray, "row place *rest"]:
    """A run's values on the page's places, `fill` where the run has no token."""
    index = np.array([-1 if position is None else position for position in positions])
    aligned = values[:, index]
    aligned[:, index < 0] = fill
    return aligned


def with_difference(sides: Mapping[str, Value]) -> dict[str, Value]:
    """A measure of each run and, where there are both, B - A on the common part."""
    return difference.with_difference(sides, DIFFERENCE)


def compared(sides: Mapping[str, Side], compute: Callable[[Side], Value]) -> dict[str, Value]:
    """A measure of each side and, where there are both, B - A on the common part."""
    return with_difference({name: compute(side) for name, side in sides.items()})


def compared_parts(
    sides: Mapping[str, Side], compute: Callable[[Side], Mapping[str, float]]
) -> dict[str, Mapping[str, float]]:
    """The parts of a sum of each side and, where there are both, B - A, in which one that a side lacks counts as 0."""
    return difference.with_difference(
        {name: compute(side) for name, side in sides.items()}, DIFFERENCE, difference.subtract_parts
    )


def as_shown(sides: Mapping[str, Value]) -> dict[str, Value]:
    """Values of A, B and B - A, by their names on the page."""
    return {DIFFERENCE if side == difference.DIFFERENCE else side: value for side, value in sides.items()}


def by_side(measures: Mapping[str, Measure]) -> dict[str, np.ndarray]:
    """The values of measures of A, B and B - A, by the names that these have on the page."""
    return {side: measure.values.float().numpy() for side, measure in as_shown(measures).items()}


def positions_at(comparison: Comparison, place: int) -> dict[str, int]:
    """The position of a place in each run that has it."""
    positions = {side: comparison.positions(run)[place] for side, run in comparison.sides.items()}
    return {side: position for side, position in positions.items() if position is not None}


def named(comparison: Comparison, sides: Mapping[str, Value], alone: str) -> dict[str, Value]:
    """The sides by their names, or by one name where there is only one run."""
    return {alone if comparison.b is None else side: value for side, value in sides.items()}


def side_of(comparison: Comparison, chosen: Selection) -> str:
    """The side that is looked at: A, B or B − A."""
    return SIDES[chosen.side or "a"] if comparison.b is not None else "A"


def is_there(sides: Mapping[str, object], side: str) -> bool:
    """Whether a side has a value: B − A where both runs have one."""
    return side in sides or (side == DIFFERENCE and len(sides) == 2)


def say_what_is_common(comparison: Comparison) -> None:
    """One line about the parts that the runs do not share, where there are any."""
    counts = {side: run.cfg.n_layers for side, run in comparison.sides.items()}
    if len(set(counts.values())) > 1:
        st.caption(
            plain(
                f"A has {counts['A']} layers and B has {counts['B']}: {DIFFERENCE} is shown for the "
                f"{comparison.n_layers} that both have."
            )
        )


def say_what_is_missing(comparison: Comparison, place: int) -> None:
    """One line for the run that has no token at a place, where one has none."""
    here = positions_at(comparison, place)
    for side in comparison.sides.keys() - here.keys():
        st.caption(plain(f"{side} has no token at place {place}, so only {''.join(here)} is shown for it."))
