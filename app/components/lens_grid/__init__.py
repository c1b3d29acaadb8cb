"""The logit lens: layers x positions, the top token in each cell, coloured by a measure; a click pins a cell."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32, Int32

from app.components.shared.mount import mount, register

_render = register(Path(__file__).parent)


@dataclass(frozen=True)
class LensCells:
    """What each layer predicts at each position: its top tokens, their probabilities, and the measure that colours it.

    Layers run from the embedding to the final output. `top` holds indices into `vocabulary`, best first. The ends
    of the colour bar are `measure_range`; the lower one has the page's background colour.
    """

    layer_labels: Sequence[str]
    position_labels: Sequence[str]
    vocabulary: Sequence[str]
    top: Int32[np.ndarray, "layer pos k"]
    probabilities: Float32[np.ndarray, "layer pos k"]
    measure: Float32[np.ndarray, "layer pos"]
    measure_name: str
    measure_unit: str
    measure_range: tuple[float, float]


class LensPin(NamedTuple):
    """A pinned cell: index into the layer labels, and position."""

    layer: int
    position: int


def lens_grid(cells: LensCells, *, pinned: LensPin | None, epoch: int, key: str) -> LensPin | None:
    """The top token of each cell, with the top ten at the pointer; returns the pinned cell.

    `pinned` counts when `epoch` is new, afterwards the user's own pin does.
    """
    value = mount(
        _render,
        key=key,
        group=key,
        props={
            "layerLabels": cells.layer_labels,
            "positionLabels": cells.position_labels,
            "vocabulary": cells.vocabulary,
            "measureName": cells.measure_name,
            "measureUnit": cells.measure_unit,
            "measureRange": cells.measure_range,
        },
        arrays={
            "top": cells.top.astype(np.int32),
            "probabilities": cells.probabilities.astype(np.float32),
            "measure": cells.measure.astype(np.float32),
        },
        value=pinned,
        epoch=epoch,
    )
    if value is None or value[0] >= len(cells.layer_labels) or value[1] >= len(cells.position_labels):
        return None
    return LensPin(*value)
