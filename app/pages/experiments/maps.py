"""What a measurement looks like: a map of its cells, or a point and an interval at each of its places."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.app.components import CellAxis, CellMap
from headlight.app.figures import Plot
from headlight.app.figures.colours import LEAST_EFFECT
from headlight.app.figures.over_rows import Means, means
from headlight.model.experiments.intervals import Summary
from headlight.model.experiments.measurement import Measurement

UNSURE = "95% interval includes 0"
LACKS = "no row has it"
TURNED = 1.5  # layers a head, from which on a map of heads lies on its side


@dataclass(frozen=True)
class Layout:
    """Which axes of the cells are rows and columns of the map, and the places of the others that it is of.

    A map of one axis has no rows.
    """

    axes: tuple[str, ...]
    rows: str | None
    columns: str
    fixed: Mapping[str, int]

    def cell(self, row: int, column: int) -> tuple[int, ...]:
        """The index, among all cells, of one of the map's."""
        at = {self.columns: column, **({} if self.rows is None else {self.rows: row}), **self.fixed}
        return tuple(at[axis] for axis in self.axes)

    def place_in_map(self, cell: tuple[int, ...] | None) -> tuple[int, int] | None:
        """Where a cell stands in the map; None where the map is of other places."""
        at = dict(zip(self.axes, cell or (), strict=False))
        if not at or any(at[axis] != place for axis, place in self.fixed.items()):
            return None
        return (0 if self.rows is None else at[self.rows]), at[self.columns]

    def arrange(self, cells: Tensor) -> Float[np.ndarray, "row column"]:
        """The cells as the map has them; of one axis a single row."""
        index = tuple(self.fixed.get(axis, slice(None)) for axis in self.axes)
        values = cells[index].double().numpy()
        left = [axis for axis in self.axes if axis not in self.fixed]
        if self.rows is None:
            return values[None]
        return values if left == [self.rows, self.columns] else values.T


def layout(measurement: Measurement, summary: Summary, places: tuple[int, ...] = ()) -> Layout:
    """Layers down and heads or positions across, turned where there are many layers; further axes at these places.

    Without places they are those of the largest cell.
    """
    axes = measurement.cell_axes
    sizes = dict(zip(axes, measurement.measure.values.shape[1:], strict=True))
    largest = next(iter(order(summary, 1)), (0,) * len(axes))
    known = len(places) == len(axes[2:]) and all(at < sizes[name] for at, name in zip(places, axes[2:], strict=True))
    fixed = dict(zip(axes[2:], places if known else largest[2:], strict=True))
    if len(axes) == 1:
        return Layout(axes, None, axes[0], {})
    rows, columns = axes[:2]
    if rows == "layer" and sizes[rows] > TURNED * sizes[columns]:
        rows, columns = columns, rows
    return Layout(axes, rows, columns, fixed)


def uncertain(summary: Summary) -> Bool[Tensor, "*cell"]:
    """The cells whose interval includes 0, and those of too few rows to have one."""
    return ~((summary.low > 0) | (summary.high < 0))


def axis(measurement: Measurement, name: str) -> CellAxis:
    """One side of a map."""
    return CellAxis(name, list(measurement.axis_labels(name)))


def cell_map(
    measurement: Measurement, summary: Summary, laid: Layout, title: str, limit: float, signed: bool = True
) -> CellMap:
    """The means as colours, of which the uncertain ones are small; the interval and the agreement where pointed at."""
    assert laid.rows is not None
    low, high = (laid.arrange(end) for end in (summary.low, summary.high))
    details = {
        "95% from": low,
        "95% to": high,
        "rows with the mean's sign (%)": 100 * laid.arrange(summary.share_of_sign),
        "rows": laid.arrange(summary.count),
    }
    return CellMap(
        laid.arrange(summary.mean),
        axis(measurement, laid.rows),
        axis(measurement, laid.columns),
        title=title,
        scale="signed" if signed else "sqrt",
        ends=(0.0, limit),
        lacks=LACKS,
        details=details,
        unsure=laid.arrange(uncertain(summary)).astype(bool),
        unsure_as=UNSURE,
    )


def limit_of(summaries: Mapping[str, Summary]) -> float:
    """The end of the scale that the sides share; the difference has one of its own."""
    largest = [
        float(summary.mean.nan_to_num(0.0).abs().max()) for summary in summaries.values() if summary.mean.numel()
    ]
    return max([LEAST_EFFECT, *largest])


def plot(measurement: Measurement, summaries: Mapping[str, Summary], laid: Layout, title: str) -> Plot:
    """A point for each place of the only axis, with its interval, by side."""
    sides = {
        side: Means(*(laid.arrange(values)[0] for values in (summary.mean, summary.low, summary.high)))
        for side, summary in summaries.items()
    }
    along = laid.columns
    look: dict[str, Any] = {"along": along, "joined": along == "layer"}
    return means(sides, measurement.axis_labels(along), title=title, unit=measurement.measure.unit, **look)


def order(summary: Summary, most: int) -> list[tuple[int, ...]]:
    """The cells with the largest means, those whose interval does not hold 0 first."""
    size = summary.mean.abs().nan_to_num(-1.0)
    ranked = torch.where(uncertain(summary), size - size.max() - 2, size).flatten()
    places = ranked.argsort(descending=True, stable=True)[: min(most, int((size >= 0).sum()))]
    cells = np.unravel_index(places.numpy(), tuple(summary.mean.shape))  # torch's imports sympy: half a second
    return list(zip(*(axis.tolist() for axis in cells), strict=True))


def name_of(measurement: Measurement, cell: tuple[int, ...]) -> str:
    """What a cell is called: L2H3, L2 at IO."""
    labels = {name: measurement.axis_labels(name)[at] for name, at in zip(measurement.cell_axes, cell, strict=True)}
    head = f"{labels.pop('layer', '')}{labels.pop('head', '')}"
    rest = " ".join(f"at {label}" if name == "position" else label for name, label in labels.items())
    return " ".join(filter(None, [head, rest]))
