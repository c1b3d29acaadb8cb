"""The maps of the residual stream, for the page and for a file."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from headlight.app.components import CellAxis, CellMap
from headlight.app.parts.sides import DIFFERENCE
from headlight.model.runs.comparison import Comparison

GROUP = "residual"
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
    return (float(positive.min()), float(positive.max())) if len(positive) else (1.0, 1.0)


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
