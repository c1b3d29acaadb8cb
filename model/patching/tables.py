"""Activation patching in tables: both runs' logit differences, and the map, cell by cell."""

from headlight.model.base.errors import InputError
from headlight.model.measure import Measure
from headlight.model.patching import EVERY_HEAD, Cells, LogitDifference, Parts, patch_runs
from headlight.model.patching.of_runs import position_labels
from headlight.model.patching.runs import Into
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run
from headlight.model.runs.tables import Table, Tables, columns, number, tokens_of

MEASURED = ("run", "target less distractor (logits)")


def patching_tables(
    comparison: Comparison,
    measured: LogitDifference,
    parts: Parts = EVERY_HEAD,
    into: Into = "A",
    estimate: bool = False,
) -> Tables:
    """Tabulate activation patching between A and B: the normalized logit difference of each patched part.

    Args:
        comparison: runs A and B.
        measured: the logit difference.
        parts: which parts are patched.
        into: the run that is patched.
        estimate: add attribution patching, its linear estimate.

    Source: Heimersheim and Nanda 2024, "How to Use and Interpret Activation Patching".

    Raises:
        InputError: there is no B, or nothing to patch or measure.
    """
    cells = Cells(patch_runs(*both(comparison), measured, into, comparison.align), parts)
    return map_tables(comparison, cells, cells.exact(), cells.estimate() if estimate else None)


def both(comparison: Comparison) -> tuple[Run, Run]:
    """Runs A and B.

    Raises:
        InputError: there is no B.
    """
    if comparison.b is None:
        raise InputError("A part of one run is put into another: compare run A with a run B.")
    return comparison.a, comparison.b


def map_tables(comparison: Comparison, cells: Cells, exact: Measure, estimate: Measure | None) -> Tables:
    """The tables of a map that has been made, with its estimate beside it where there is one; one row a cell."""
    patching = cells.patching
    return {
        "tokens": tokens_of(comparison),
        "measured": columns(MEASURED, [("A", patching.a), ("B", patching.b)]),
        "map": _cells(cells_named(comparison, cells), cells_axes(cells), exact, estimate),
    }


def cells_axes(cells: Cells) -> tuple[str, str]:
    """The axes of the map."""
    rows, across = cells.grid.axes
    return rows, "position" if across == "pos" else across


def cells_named(comparison: Comparison, cells: Cells) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Labels of the map's rows and columns."""

    def named(axis: str, size: int) -> tuple[str, ...]:
        if axis == "pos":
            places, into = comparison.places(comparison.sides[cells.patching.into]), cells.patching.into
            labels = position_labels(*both(comparison), into, comparison.align)
            return tuple(f"{place} {label}" for place, label in zip(places, labels, strict=True))[:size]
        prefix = {"layer": "L", "head": f"L{cells.parts.layer}H" if cells.parts.what == "z_by_position" else "H"}[axis]
        return tuple(f"{prefix}{place}" for place in range(size))

    rows, across = (named(axis, size) for axis, size in zip(cells.grid.axes, cells.grid.shape, strict=True))
    return rows, across


def _cells(
    names: tuple[tuple[str, ...], tuple[str, ...]], axes: tuple[str, str], exact: Measure, estimate: Measure | None
) -> Table:
    maps = {"share": exact} if estimate is None else {"share": exact, "estimate": estimate}
    shares = [each.values.tolist() for each in maps.values()]
    rows = (
        (row, column, *(number(each[i][j]) for each in shares))
        for i, row in enumerate(names[0])
        for j, column in enumerate(names[1])
    )
    return columns((*axes, *maps), rows)
