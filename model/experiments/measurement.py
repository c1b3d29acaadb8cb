"""The result of an experiment: one value for every row of a set and every cell of the map."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxtyping import Float
from torch import Tensor

from headlight.model.measure import Measure


@dataclass(frozen=True, eq=False)
class Measurement:
    """One measure over a set of prompts.

    A share says how far the patched run has come from the run that is patched (0) to the run whose part was put in
    (1). A row's change is divided by the difference of the two runs' means over the set, not by the row's own, which
    can be near 0: the mean over rows is that of the logits, normalised.

    Attributes:
        measure: the values, with axes ("row", *cell axes); NaN where a row has no such cell.
        labels: the labels of each axis that is no plain count, such as "position" or "component".
        rows: the numbers of the rows in the set, from 1.
        raw: the metric of the changed run, where `measure` is a share or a change of it.
        clean: each row's metric for the clean prompt, where it was run.
        corrupted: each row's metric for the corrupted prompt, where it was run.
        left_out: row number to the reason why the row is not in the measurement.
    """

    measure: Measure
    labels: Mapping[str, tuple[str, ...]]
    rows: tuple[int, ...]
    raw: Measure | None = None
    clean: Float[Tensor, " row"] | None = None
    corrupted: Float[Tensor, " row"] | None = None
    left_out: Mapping[int, str] = field(default_factory=dict)

    @property
    def cell_axes(self) -> tuple[str, ...]:
        """The axes of the map, without that of the rows."""
        return self.measure.axes[1:]

    def axis_labels(self, axis: str) -> tuple[str, ...]:
        """The labels of an axis; counts of layers and heads are L0, L1, ... and H0, H1, ..."""
        if axis in self.labels:
            return self.labels[axis]
        size = self.measure.values.shape[self.measure.axes.index(axis)]
        prefix = {"layer": "L", "head": "H"}.get(axis, "")
        return tuple(f"{prefix}{place}" for place in range(size))
