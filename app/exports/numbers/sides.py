"""A, B and B - A of the same quantity, and what tables and arrays are made of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from app.csv_files import Cell
from app.run import Run
from app.shown import Shown
from model.analysis import Measure
from model.analysis.alignment import on_axis

DIFFERENCE = "B - A"


def sides(shown: Shown, of: Callable[[Run], Measure]) -> dict[str, Measure]:
    """A measure of each run; with two also their difference, for the layers and heads that both have."""
    found = {side: of(run) for side, run in shown.sides.items()}
    if shown.b is not None:
        found[DIFFERENCE] = _difference(found["A"], found["B"])
    return found


def on_places(shown: Shown, of: Callable[[Run], Measure]) -> dict[str, Measure]:
    """The same for a measure whose last axis is the position, laid on the common axis: NaN where a run has no token."""

    def laid(run: Run) -> Measure:
        measure = of(run)
        values = on_axis(measure.values.float(), shown.positions(run), torch.nan)
        return Measure(measure.name, measure.unit, (*measure.axes[:-1], "place"), values)

    return sides(shown, laid)


def _difference(a: Measure, b: Measure) -> Measure:
    common = tuple(slice(min(sizes)) for sizes in zip(a.values.shape, b.values.shape, strict=True))
    return Measure(f"change of {a.name}", a.unit, a.axes, b.values[common] - a.values[common])


def named(name: str, found: Mapping[str, Measure]) -> dict[str, Measure]:
    """The sides as entries of an npz file."""
    return {f"{side.replace(' ', '')} {name}": measure for side, measure in found.items()}


def finite(values: Float[Tensor, "..."]) -> Iterator[tuple[tuple[int, ...], float]]:
    """The indices and values of all entries that are numbers, in reading order."""
    indices = values.isfinite().nonzero()
    yield from zip(map(tuple, indices.tolist()), values[tuple(indices.T)].tolist(), strict=True)


def number(value: float) -> float | None:
    """A number for a cell, None for what is not one."""
    return None if value != value else value


def columns(heading: Sequence[str], rows: Sequence[tuple[Cell, ...]]) -> dict[str, list[Cell]]:
    """Rows as the columns of a table."""
    return {name: [row[place] for row in rows] for place, name in enumerate(heading)}


def tokens_table(
    labels: Mapping[str, Sequence[str]], positions: Mapping[str, Sequence[int | None]]
) -> dict[str, list[Cell]]:
    """Which token of each run stands at each place; empty where it has none."""
    places = range(len(next(iter(positions.values()))))
    by_run: dict[str, list[Cell]] = {
        side: [None if position is None else labels[side][position] for position in positions[side]] for side in labels
    }
    return {"place": list(places), **by_run}
