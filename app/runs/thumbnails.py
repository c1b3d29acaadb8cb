"""The thumbnails of all heads: their cells, pooled, on one scale."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.attention.axis import Axis
from headlight.model.attention.fields import SIGNED, How, on_axis
from headlight.model.measure import attention
from headlight.model.measure.difference import Side
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.host import Steps
from headlight.model.runs.run import Run
from headlight.model.runs.summaries import THUMBNAIL

NOISE = 1e-5  # a smaller difference is float32's rounding, and not to be coloured as if it were one


@dataclass(frozen=True, eq=False)
class Thumbnails:
    """All heads' pictures, pooled, with the limit of their common scale; signed ones run from -limit to limit."""

    values: Float[np.ndarray, "layer head rows columns"]
    limit: float
    signed: bool


def thumbnails(comparison: Comparison, side: Side, how: How, axis: Axis) -> Thumbnails:
    """Every head's cells pooled: of each bin the largest, for signed cells the one farthest from zero."""
    if how == How() and comparison.b is None and axis.groups == (None,):
        return of_run(comparison.a)
    signed = side == "difference" or how.show in SIGNED
    pool = farthest_from_zero if signed else largest

    def of_layer(layer: int) -> Float[Tensor, "head rows columns"]:
        heads = ((layer, head) for head in range(comparison.n_heads))
        return torch.stack([pool(on_axis(comparison, side, head, how, axis)) for head in heads])

    values = torch.stack(list(_layers(comparison, (side, how), axis, of_layer))).numpy()
    limit = 1.0 if how.show == "weight" and not signed else scale_end(float(np.nanmax(np.abs(values), initial=0)))
    return Thumbnails(values, limit, signed)


def _layers(
    comparison: Comparison, drawn: tuple[Side, How], axis: Axis, of_layer: Callable[[int], Tensor]
) -> Iterator[Tensor]:
    """Each layer's pictures, with progress; those between units are kept one by one, to go on from after a click."""
    groups = tuple(tuple(group.tolist()) for group in axis.groups if group is not None)
    steps = Steps(comparison.a.host, comparison.n_layers)
    for layer in range(comparison.n_layers):
        made = partial(of_layer, layer)
        yield comparison.keep(("thumbnails", *drawn, layer, groups), made) if groups else made()
        steps.add()


def of_run(run: Run) -> Thumbnails:
    """Every head's weights, pooled as they passed."""
    return Thumbnails(run.thumbnails.masked_fill(run.hidden, torch.nan).numpy(), 1.0, signed=False)


def scale_end(largest: float) -> float:
    """End of a colour scale for values up to the largest: that, rounded up to two digits, or 1 for noise."""
    if largest <= NOISE:
        return 1.0
    step = 10.0 ** (np.floor(np.log10(largest)) - 1)
    return float(f"{np.ceil(largest / step - NOISE) * step:.2g}")


def largest(cells: Float[Tensor, "*head query key"]) -> Float[Tensor, "*head rows columns"]:
    """The largest cell of each bin of a thumbnail; NaN where none has a value."""
    pooled = attention.max_pool(cells.nan_to_num(nan=-torch.inf), THUMBNAIL)
    return pooled.masked_fill(pooled.isneginf(), torch.nan)


def farthest_from_zero(cells: Float[Tensor, "*head query key"]) -> Float[Tensor, "*head rows columns"]:
    """The cell of each bin of a thumbnail that is the farthest from zero."""
    highest, lowest = largest(cells), -largest(-cells)
    return torch.where(highest >= -lowest, highest, lowest)
