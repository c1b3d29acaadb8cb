"""The maps of the residual stream, for the page and for a file."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from headlight.app.components import CellAxis, CellMap
from headlight.app.parts.sides import DIFFERENCE
from headlight.model.runs.comparison import Comparison

GROUP = "residual"
EQUAL = 1 + 1e-4  # lengths that are no further apart differ by rounding
Norms = Mapping[str, Float[np.ndarray, "layer place"]]


def norm_map(comparison: Comparison, norms: Norms, side: str) -> CellMap:
    """The stream's norm at every layer and token, the embedding at the bottom."""
    is_change = side == DIFFERENCE
    layers = comparison.layer_labels[: len(norms[side])]
    return CellMap(
        norms[side][::-1],
        CellAxis("after", layers[::-1]),
        CellAxis("token", comparison.labels, numbered=True),
        title="change of L2 norm" if is_change else "L2 norm",
        scale="signed" if is_change else "log",
        ends=None if is_change else _ends({run: norms[run] for run in comparison.sides}),
        lacks="not in both runs" if is_change else "not in this run",
    )


def _ends(norms: Norms) -> tuple[float, float]:
    """The least and the greatest length of all runs that is not zero, which has no place on a logarithmic scale."""
    positive = np.concatenate([values[values > 0] for values in norms.values()])
    if len(positive) == 0:
        return 1.0, 1.0
    least, greatest = float(positive.min()), float(positive.max())
    # Streams that end in a norm without learned gains have one length, up to rounding, which is no range to colour.
    return (least, greatest) if greatest > EQUAL * least else (least / 2, greatest * 2)


def cosine_map(comparison: Comparison, cosines: Float[np.ndarray, "layer other_layer"], side: str) -> CellMap:
    """The cosine between the stream's states after every two layers."""
    layers, is_change = comparison.layer_labels[: len(cosines)], side == DIFFERENCE
    return CellMap(
        cosines,
        CellAxis("after", layers),
        CellAxis("and after", layers),
        title="change of cosine" if is_change else "cosine between layers",
        scale="signed" if is_change else "linear",
        ends=None if is_change else (0, 1),
    )


def head_map(heads: Float[np.ndarray, "layer head"], side: str, title: str) -> CellMap:
    """Contribution of each head, the last layer on top."""
    layers, columns = [f"L{layer}" for layer in range(len(heads))], [f"H{head}" for head in range(heads.shape[1])]
    return CellMap(
        heads[::-1],
        CellAxis("layer", layers[::-1]),
        CellAxis("head", columns),
        title=title,
        caption=f"{side}: heads, {_signed(heads)} together",
        scale="signed",
    )


def rest_map(names: Sequence[str], rest: Float[np.ndarray, " part"], side: str, title: str) -> CellMap:
    """Contributions of all parts that are no head, in a row."""
    return CellMap(
        rest[None],
        CellAxis("run", [side]),
        CellAxis("part", names),
        title=title,
        caption=f"{side}: other parts, {_signed(rest)} together",
        scale="signed",
    )


def _signed(values: Float[np.ndarray, "*shape"]) -> str:
    return f"{float(values.sum()):+.4f}".replace("-", "−")
