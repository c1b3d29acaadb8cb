"""Norms of the stream itself, at the scales that they have in a run.

Where a model normalises its stream after each addition, as BERT does, what a part wrote goes through every norm behind
it. With its scale frozen a norm is linear, so that the parts of a stream add up to it all the same, together with the
norms' biases.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.measure.head_steps import Norm
from headlight.model.measure.score_parts import read_back, rescaled
from headlight.model.runs.host import kept
from headlight.model.runs.linear import norm_of
from headlight.model.runs.run import Run

Vectors = Float[Tensor, "*part d_model"]


@dataclass(frozen=True, eq=False)
class StreamNorm:
    """A norm behind the addition of a layer's write, by that write's hook name, with its divisor at each position."""

    layer: int
    part: str
    norm: Norm
    scales: Float[Tensor, " pos"]


@kept
@torch.inference_mode()
def stream_norms(run: Run) -> tuple[StreamNorm, ...]:
    """The norms that a run's stream goes through, in order; none where writes are just added up."""
    if not run.cfg.post_norm:
        return ()
    norms = list[StreamNorm]()
    for layer, part, summed in run.sums():
        norm = None if part is None else norm_of(run.model.block(layer).norm_after(part))
        if part is not None and norm is not None:
            norms.append(StreamNorm(layer, part, norm, scales_of(summed, norm)))
    return tuple(norms)


def scales_of(stream: Float[Tensor, "pos d_model"], norm: Norm) -> Float[Tensor, " pos"]:
    """Divisor of a norm at each position, in float64."""
    centred = stream.double() - stream.double().mean(-1, keepdim=True) if norm.centred else stream.double()
    return (centred.square().mean(-1) + norm.eps).sqrt()


def norms_before(run: Run, layer: int) -> int:
    """The number of norms that the stream has gone through before a layer."""
    return sum(norm.layer < layer for norm in stream_norms(run))


def norms_before_write(run: Run, layer: int, part: str) -> int:
    """The number of norms that the stream has gone through before a layer's write, by its hook name, is added."""
    norms = stream_norms(run)
    return next((index for index, norm in enumerate(norms) if (norm.layer, norm.part) == (layer, part)), len(norms))


def through_norms(run: Run, vectors: Vectors, position: int, first: int, last: int | None = None) -> Vectors:
    """Parts of the stream at a position as they are behind some of its norms, whose biases belong to no part."""
    for norm in stream_norms(run)[first:last]:
        vectors = rescaled(vectors.double(), norm.norm, norm.scales[position])
    return vectors


def read_back_to(run: Run, layer: int, part: str, direction: Vectors, position: int) -> Vectors:
    """Vector whose product with a layer's write equals that of `direction` with it in the final stream."""
    for norm in reversed(stream_norms(run)[norms_before_write(run, layer, part) :]):
        direction = read_back(direction.double(), norm.norm, norm.scales[position])
    return direction


def at_the_end(run: Run, layer: int, vectors: Vectors, position: int) -> Vectors:
    """What a layer's heads wrote at a position, as it is in the final stream."""
    return through_norms(run, vectors, position, norms_before(run, layer))
