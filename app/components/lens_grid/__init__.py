"""The lens of one run or two: layers x places, each cell with its top token and coloured by a measure."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float32, Int, Int32

from headlight.app.components.shared.mount import mount, register

_render = register(__file__)


@dataclass(frozen=True)
class LensCells:
    """Lens predictions of each layer at each place: top tokens, their probabilities, and the measure of the colours.

    Layers run from the embedding to the final output. `top` holds indices into the vocabulary, best first. Where the
    run has no token, `top` is -1 and the measure not a number. Where there are `changes` a top token is written in
    these cells only, and bold, with an edge, from the layer on from which each place is `settled`.
    """

    layer_labels: Sequence[str]
    top: Int32[np.ndarray, "layer place k"]
    probabilities: Float32[np.ndarray, "layer place k"]
    measure: Float32[np.ndarray, "layer place"]
    changes: Bool[np.ndarray, "layer place"] | None = None
    settled: Int[np.ndarray, " place"] | None = None


@dataclass(frozen=True)
class LensColours:
    """The measure's name and unit, and the ends of the colour bar; the lower one has the page's background colour.

    `lens` is what it is a measure of.
    """

    name: str
    unit: str
    ends: tuple[float, float]
    lens: str = "Logit lens"


class LensPin(NamedTuple):
    """A pinned cell: index into the layer labels, and place."""

    layer: int
    position: int


@dataclass(frozen=True, eq=False)
class LensGrid:
    """The top tokens of one run or two, coloured by a measure of them.

    With a second run B there are A, B and B - A of the measure (for the layers that both have) on the same places.
    `labels` are the input tokens, `vocabulary` the unique labels of all tokens listed. Of a long prompt a picture shows
    what stands around the `place`. `turns` are the role of each turn of A's conversation, and the place it begins at.
    """

    a: LensCells
    b: LensCells | None = None
    _: KW_ONLY
    labels: Sequence[str]
    vocabulary: Sequence[str]
    colours: LensColours
    place: int = -1
    turns: Sequence[tuple[str, int]] = ()

    @property
    def cells(self) -> list[LensCells]:
        """Cells of A, and of B where there is one."""
        return [self.a] if self.b is None else [self.a, self.b]


def lens_grid(drawn: LensGrid, *, pinned: LensPin | None, epoch: int, key: str) -> LensPin | None:
    """Show the top token of each cell, with the top ten at the pointer; returns the pinned cell.

    `pinned` counts when `epoch` is new, afterwards the user's own pin does.
    """
    value = mount(
        _render,
        key=key,
        props={
            "layerLabels": [each.layer_labels for each in drawn.cells],
            "labels": drawn.labels,
            "vocabulary": drawn.vocabulary,
            "lensName": drawn.colours.lens,
            "measureName": drawn.colours.name,
            "measureUnit": drawn.colours.unit,
            "ends": drawn.colours.ends,
            "turns": [list(turn) for turn in drawn.turns],
        },
        arrays={name: array for slot, each in enumerate(drawn.cells) for name, array in _arrays(each, slot).items()},
        value=pinned,
        epoch=epoch,
    )
    n_layers = max(len(each.layer_labels) for each in drawn.cells)
    if value is None or value[0] >= n_layers or value[1] >= len(drawn.labels):
        return None
    return LensPin(*value)


def _arrays(cells: LensCells, slot: int) -> dict[str, np.ndarray]:
    story = {} if cells.changes is None else {f"changes{slot}": cells.changes.astype(np.uint8)}
    if cells.settled is not None:
        story[f"settled{slot}"] = cells.settled.astype(np.int32)
    return story | {
        f"top{slot}": cells.top.astype(np.int32),
        f"probabilities{slot}": cells.probabilities.astype(np.float32),
        f"measure{slot}": cells.measure.astype(np.float32),
    }
