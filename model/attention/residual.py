"""The residual stream: its norm, how its direction changes, and the components that wrote it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from headlight.model.measure import Measure

Vectors = Float[Tensor, "pos d_model"]


def stream_norms(resid: Iterable[Vectors]) -> Measure:
    """The L2 norm of the residual stream at every layer and position."""
    return _norms("residual stream norm", "layer", resid)


def layer_cosine(resid: Iterable[Vectors]) -> Measure:
    """The cosine between every two layers' streams, averaged over positions; a stream of zeros has cosine 0."""
    streams = list(resid)
    # Tiles of positions, so that the normalised copy of all layers is never in memory at once.
    tiles = zip(*(torch.split(stream, 128) for stream in streams), strict=True)
    directions = (F.normalize(torch.stack(tile), dim=-1) for tile in tiles)
    total = torch.stack([torch.einsum("apd,bpd->ab", unit, unit) for unit in directions]).sum(dim=0)
    return Measure("cosine between streams", "cosine", ("layer", "other layer"), total / len(streams[0]))


def stream_change(resid: Iterable[Vectors], edited: Iterable[Vectors]) -> Measure:
    """Difference from another run's stream at every layer and position, as a share of this stream's L2 norm."""
    rows = [(b - a).norm(dim=-1) / a.norm(dim=-1) for a, b in zip(resid, edited, strict=True)]
    return Measure("change of the stream", "share", ("layer", "pos"), torch.stack(rows))


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The components of the final residual: row i of both measures [component, pos] belongs to `components[i]`."""

    components: tuple[str, ...]
    norms: Measure
    shares: Measure


def decompose(outputs: Mapping[str, Vectors], final: Vectors) -> Decomposition:
    """The L2 norm of every component's output, and its share of the final residual.

    A share is the component's projection on the direction of the final residual, divided by that residual's norm.
    Given all that was added up (embeddings, every layer's attention with its bias, every MLP), the shares of a position
    sum to 1. They can be negative or above 1: components cancel.
    """
    shares = torch.stack([_share(output, final) for output in outputs.values()])
    return Decomposition(
        components=tuple(outputs),
        norms=_norms("component norm", "component", outputs.values()),
        shares=Measure("share of the final residual", "share", ("component", "pos"), shares),
    )


def decomposition_residual(outputs: Iterable[Vectors], final: Vectors) -> Measure:
    """The largest absolute difference between the sum of the components and the final residual.

    0 up to rounding if `outputs` are all that was added up.
    """
    total = torch.zeros_like(final)
    for output in outputs:
        total = total + output
    return Measure("decomposition residual", "activation", (), (total - final).abs().max())


def _share(output: Vectors, final: Vectors) -> Float[Tensor, " pos"]:
    return (output * final).sum(dim=-1) / final.square().sum(dim=-1)


def _norms(name: str, axis: str, vectors: Iterable[Vectors]) -> Measure:
    return Measure(name, "L2 norm", (axis, "pos"), torch.stack([rows.norm(dim=-1) for rows in vectors]))
