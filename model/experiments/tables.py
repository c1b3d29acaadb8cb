"""Tables of an experiment, for the page, its csv files and the script that is exported."""

from collections.abc import Iterator, Mapping, Sequence

from headlight.model.experiments.difference import common, difference
from headlight.model.experiments.intervals import Interval, Summary, summarise
from headlight.model.experiments.measurement import Measurement
from headlight.model.measure.difference import DIFFERENCE
from headlight.model.runs.tables import Row, Tables, columns, number

NUMBERS = ("unit", "mean", "95% from", "95% to", "share of rows with its sign", "rows")
ROWS = ("run", "row", "clean", "corrupted")


def experiment_tables(
    a: Measurement,
    b: Measurement | None = None,
    paired: bool = True,
    interval: Interval = "bootstrap",
    seed: int = 0,
    cell: Sequence[int] = (),
) -> Tables:
    """Return every cell's mean over the rows with its interval, each row's metric, and one cell in every row.

    Args:
        a: a measurement.
        b: another to compare with, on the cells that both have.
        paired: whether both are of the same set, so that B − A is taken row by row.
        interval: how the 95% interval is made.
        seed: decides which rows are resampled.
        cell: the index of the cell that is listed in every row.
    """
    sides: dict[str, Measurement] = {"A": a}
    if b is not None:
        sides = dict(zip("AB", common(a, b), strict=True))
    summaries = {name: summarise(measurement.measure.values, interval, seed) for name, measurement in sides.items()}
    if b is not None:
        summaries[DIFFERENCE] = difference(sides["A"], sides["B"], paired, interval, seed)
    tables: Tables = {"cells": columns(("run", *a.cell_axes, *NUMBERS), _cells(sides["A"], summaries))}
    tables["rows"] = columns(ROWS, _rows(sides))
    if cell:
        tables["cell"] = columns(("run", "row", *a.cell_axes, "unit", "value"), _of_cell(sides, tuple(cell)))
    return tables


def _cells(measured: Measurement, summaries: Mapping[str, Summary]) -> Iterator[Row]:
    labels = [measured.axis_labels(axis) for axis in measured.cell_axes]
    for side, summary in summaries.items():
        for place in summary.count.nonzero().tolist():
            index = tuple(place)
            named = [names[at] for names, at in zip(labels, index, strict=True)]
            numbers = (
                number(float(each[index])) for each in (summary.mean, summary.low, summary.high, summary.share_of_sign)
            )
            yield (side, *named, measured.measure.unit, *numbers, int(summary.count[index]))


def _rows(sides: Mapping[str, Measurement]) -> Iterator[Row]:
    for side, measurement in sides.items():
        metrics = [
            [None] * len(measurement.rows) if each is None else each.tolist()
            for each in (measurement.clean, measurement.corrupted)
        ]
        for row, *values in zip(measurement.rows, *metrics, strict=True):
            yield (side, row, *(None if value is None else number(value) for value in values))


def _of_cell(sides: Mapping[str, Measurement], cell: tuple[int, ...]) -> Iterator[Row]:
    index: tuple[slice | int, ...] = (slice(None), *cell)
    for side, measurement in sides.items():
        named = [measurement.axis_labels(axis)[at] for axis, at in zip(measurement.cell_axes, cell, strict=True)]
        for row, value in zip(measurement.rows, measurement.measure.values[index].tolist(), strict=True):
            yield (side, row, *named, measurement.measure.unit, number(value))
