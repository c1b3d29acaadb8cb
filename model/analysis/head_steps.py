"""Every step by which one head makes one query's output: from the residual stream to what is written back to it."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.model.analysis import Measure


@dataclass(frozen=True, eq=False)
class Norm:
    """A LayerNorm: what it adds to the variance and, where it has them, its gain and bias."""

    eps: float
    w: Float[Tensor, " d_model"] | None = None
    b: Float[Tensor, " d_model"] | None = None


@dataclass(frozen=True, eq=False)
class Normalized:
    """A stream after LayerNorm [pos, d_model], and the mean and standard deviation [pos] of each row before it."""

    mean: Measure
    sd: Measure
    values: Measure


@dataclass(frozen=True, eq=False)
class HeadSteps:
    """One head at one query, step by step; keys are all positions.

    - stream [pos, d_model]: what enters the layer; `normalized` is it after LayerNorm, None where the model has none.
    - q [d_head], k [key, d_head], v [key, d_value]: the query's own, and those of every key.
    - dots [key]: q · k. scores: dots divided by the scale. masked: scores, -inf where the query may not look.
    - largest []: the largest masked score. exponentials [key]: exp(masked - largest). total []: their sum.
    - weights [key]: exponentials / total, which is the softmax of the masked scores.
    - z [d_value]: the weights' sum of values. output [d_model]: z W_O, what the head adds to the stream; the bias b_O
      is not in it, because all heads of the layer share it.
    """

    stream: Measure
    normalized: Normalized | None
    q: Measure
    k: Measure
    v: Measure
    dots: Measure
    scores: Measure
    masked: Measure
    largest: Measure
    exponentials: Measure
    total: Measure
    weights: Measure
    z: Measure
    output: Measure

    @property
    def read(self) -> Measure:
        """What W_Q, W_K and W_V multiply [pos, d_model]: the stream after LayerNorm, or itself where there is none."""
        return self.normalized.values if self.normalized else self.stream


def normalize(stream: Float[Tensor, "pos d_model"], norm: Norm) -> Normalized:
    """Each row less its mean, divided by its standard deviation, then times gain plus bias.

    The standard deviation is the root of the mean square (not n - 1) with `eps` added under the root, as in the model.

    Source: Ba et al. 2016, "Layer Normalization".
    """
    mean = stream.mean(-1, keepdim=True)
    sd = ((stream - mean).square().mean(-1, keepdim=True) + norm.eps).sqrt()
    values = (stream - mean) / sd
    if norm.w is not None:
        values = values * norm.w
    if norm.b is not None:
        values = values + norm.b
    return Normalized(
        mean=_activation("mean", mean[:, 0], "pos"),
        sd=_activation("standard deviation", sd[:, 0], "pos"),
        values=_activation("stream after LayerNorm", values, "pos", "d_model"),
    )


def head_steps(
    stream: Float[Tensor, "pos d_model"],
    norm: Norm | None,
    q: Float[Tensor, " d_head"],
    k: Float[Tensor, "pos d_head"],
    v: Float[Tensor, "pos d_value"],
    W_O: Float[Tensor, "d_value d_model"],
    mask: Bool[Tensor, " pos"],
    attn_scale: float,
) -> HeadSteps:
    """All steps from the run's own activations: the stream, the query's q, every key's k and v.

    `mask` is true for the keys that the query may look at, of which there is at least one.

    Source: Vaswani et al. 2017, section 3.2.1.
    """
    scores = k @ (q / attn_scale)
    masked = scores.masked_fill(~mask, -torch.inf)
    exponentials = (masked - masked.max()).exp()
    weights = exponentials / exponentials.sum()
    z = weights @ v
    return HeadSteps(
        stream=_activation("residual stream", stream, "pos", "d_model"),
        normalized=None if norm is None else normalize(stream, norm),
        q=_activation("query", q, "d_head"),
        k=_activation("keys", k, "key", "d_head"),
        v=_activation("values", v, "key", "d_value"),
        dots=_activation("q · k", k @ q, "key"),
        scores=Measure("q · k / scale", "nats", ("key",), scores),
        masked=Measure("pre-softmax score", "nats", ("key",), masked),
        largest=Measure("largest score", "nats", (), masked.max()),
        exponentials=Measure("exp(score − largest)", "share", ("key",), exponentials),
        total=Measure("sum of exp(score − largest)", "share", (), exponentials.sum()),
        weights=Measure("attention weight", "probability", ("key",), weights),
        z=_activation("weighted sum of values", z, "d_value"),
        output=_activation("output", z @ W_O, "d_model"),
    )


def _activation(name: str, values: Tensor, *axes: str) -> Measure:
    return Measure(name, "activation", axes, values)


@dataclass(frozen=True)
class Terms:
    """A sum of products: the largest of them as (index, one factor, other factor), what the rest sums to, and all."""

    largest: tuple[tuple[int, float, float], ...]
    n_rest: int
    rest: float
    total: float


def terms(one: Float[Tensor, " n"], other: Float[Tensor, " n"], count: int) -> Terms:
    """The dot product of two vectors with its `count` terms that are farthest from zero spelled out."""
    one, other = one.double(), other.double()  # so that the sums as they are written add up
    products = one * other
    order = products.abs().argsort(descending=True, stable=True)[:count].tolist()
    total = products.sum().item()
    return Terms(
        largest=tuple((index, one[index].item(), other[index].item()) for index in order),
        n_rest=len(products) - len(order),
        rest=total - products[order].sum().item(),
        total=total,
    )
