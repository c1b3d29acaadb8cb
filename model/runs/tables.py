"""Tables: columns of equal length by their headings, made of measures, and printed as csv."""

import csv
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from headlight.model.runs.comparison import Comparison

Cell = str | int | float | None
Row = tuple[Cell, ...]
Rows = list[Row]
Table = Mapping[str, Sequence[Cell]]
Tables = dict[str, Table]


def print_tables(tables: Mapping[str, Table]) -> None:
    """Print tables as csv, an empty line after each; NaN and None are empty cells."""
    if reconfigure := getattr(sys.stdout, "reconfigure", None):
        reconfigure(encoding="utf-8")  # a token can hold any character, whatever the terminal's own encoding
    out = csv.writer(sys.stdout, lineterminator="\n")
    for table in tables.values():
        out.writerow(table)
        for row in zip(*table.values(), strict=True):
            out.writerow(["" if cell is None or cell != cell else cell for cell in row])
        print()


def columns(heading: Sequence[str], rows: Iterable[Row]) -> Table:
    """Rows as the columns of a table."""
    listed = list(rows)
    return {name: [row[slot] for row in listed] for slot, name in enumerate(heading)}


def finite(values: Shaped[Tensor, "..."]) -> Iterator[tuple[tuple[int, ...], float]]:
    """The indices and values of all entries that are numbers, in reading order."""
    indices = values.isfinite().nonzero()
    yield from zip(map(tuple, indices.tolist()), values[tuple(indices.T)].tolist(), strict=True)


def number(value: float) -> float | None:
    """A number for a cell, None for what is not one."""
    return None if value != value else value


def known(values: Iterable[Float[Tensor, "..."]]) -> Iterator[tuple[tuple[int, ...], list[float | None]]]:
    """The indices of entries of tensors of one shape, and the number in each; without entries that all lack."""
    stacked = torch.stack(list(values), -1)
    there = ~stacked.isnan().all(-1)
    for index, row in zip(there.nonzero().tolist(), stacked[there].tolist(), strict=True):
        yield tuple(index), [number(value) for value in row]


def tokens_table(labels: Mapping[str, Sequence[str]], positions: Mapping[str, Sequence[int | None]]) -> Table:
    """Token of each run at each place; empty where the run has none."""
    by_run = {
        side: [None if position is None else labels[side][position] for position in positions[side]] for side in labels
    }
    return {"place": list(range(len(next(iter(positions.values()))))), **by_run}


def tokens_of(comparison: Comparison) -> Table:
    """Token of each run at each place of the common axis."""
    return tokens_table(
        {side: run.labels for side, run in comparison.sides.items()},
        {side: comparison.positions(run) for side, run in comparison.sides.items()},
    )
