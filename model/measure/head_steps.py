"""Every step of one head for one query: from the residual stream to the write back to it."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.model.measure import Measure


@dataclass(frozen=True, eq=False)
class Norm:
    """LayerNorm or, where nothing is `centred`, RMSNorm: what it adds to the mean square, and its gain and bias.

    Norms of heads may have a gain and a bias for each head.
    """

    eps: float
    w: Float[Tensor, "*head d_model"] | None = None
    b: Float[Tensor, "*head d_model"] | None = None
    centred: bool = True

    @property
    def name(self) -> str:
        """Its name."""
        return "LayerNorm" if self.centred else "RMSNorm"


@dataclass(frozen=True, eq=False)
class Normalized:
    """A stream after its norm [pos, d_model], and the mean and standard deviation [pos] of each row before it.

    Of RMSNorm the mean is 0, and the deviation the root of the mean square.
    """

    mean: Measure
    sd: Measure
    values: Measure


@dataclass(frozen=True, eq=False)
class HeadSteps:
    """One head at one query, step by step; keys are all positions.

    - stream [pos, d_model]: what enters the layer; `normalized` is it after the norm, None where the layer has none.
    - q [d_head], k [key, d_head], v [key, d_value]: the query's own, and those of every key, as they are compared.
      first_q, first_k: before they were normalised or turned; None where the model does neither.
    - dots [key]: q · k. scores: dots divided by the scale. biased, capped: with what the model adds for the distance,
      and behind its soft cap; None where it has neither. masked: scores, -inf where the query may not look.
    - largest []: the largest masked score, that of the `sink` [] included, which stands for no key.
    - exponentials [key]: exp(masked - largest). total []: their sum, with that of the sink.
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
    biased: Measure | None = None
    capped: Measure | None = None
    sink: Measure | None = None
    first_q: Measure | None = None
    first_k: Measure | None = None

    @property
    def read(self) -> Measure:
        """Input of W_Q, W_K and W_V [pos, d_model]: the stream after its norm, or the stream itself without one."""
        return self.normalized.values if self.normalized else self.stream


def normalize(stream: Float[Tensor, "pos d_model"], norm: Norm) -> Normalized:
    """Each row less its mean, divided by its standard deviation, then times gain plus bias.

    The standard deviation is the root of the mean square (not n - 1) with `eps` added under the root, as in the model.
    RMSNorm takes no mean off.

    Source: Ba et al. 2016, "Layer Normalization"; Zhang and Sennrich 2019, "Root Mean Square Layer Normalization".
    """
    mean = stream.mean(-1, keepdim=True) if norm.centred else torch.zeros_like(stream[:, :1])
    sd = ((stream - mean).square().mean(-1, keepdim=True) + norm.eps).sqrt()
    values = (stream - mean) / sd
    if norm.w is not None:
        values = values * norm.w
    if norm.b is not None:
        values = values + norm.b
    return Normalized(
        mean=_activation("mean", mean[:, 0], "pos"),
        sd=_activation("standard deviation", sd[:, 0], "pos"),
        values=_activation(f"stream after {norm.name}", values, "pos", "d_model"),
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
    bias: Float[Tensor, " pos"] | None = None,
    soft_cap: float | None = None,
    sink: float | None = None,
    first: tuple[Float[Tensor, " d_head"], Float[Tensor, "pos d_head"]] | None = None,
) -> HeadSteps:
    """All steps from the run's own activations: the stream, the query's q, every key's k and v.

    `mask` is true for the keys that the query may look at, of which there is at least one. `bias`, `soft_cap` and
    `sink` are what the model has between dot products and weights beside the scale, `first` the query and the keys
    before they were normalised or turned.

    Source: Vaswani et al. 2017, section 3.2.1.
    """
    scores = k @ (q / attn_scale)
    biased = scores if bias is None else scores + bias
    capped = biased if soft_cap is None else soft_cap * (biased / soft_cap).tanh()
    masked = capped.masked_fill(~mask, -torch.inf)
    of_sink = masked.new_tensor([-torch.inf if sink is None else sink])
    largest = torch.cat([masked, of_sink]).max()
    exponentials = (masked - largest).exp()
    total = exponentials.sum() + (of_sink - largest).exp().sum()
    weights = exponentials / total
    z = weights @ v
    return HeadSteps(
        stream=_activation("residual stream", stream, "pos", "d_model"),
        normalized=None if norm is None else normalize(stream, norm),
        q=_activation("query", q, "d_head"),
        k=_activation("keys", k, "key", "d_head"),
        v=_activation("values", v, "key", "d_value"),
        dots=_activation("q · k", k @ q, "key"),
        scores=Measure("q · k / scale", "score", ("key",), scores),
        masked=Measure("pre-softmax score", "score", ("key",), masked),
        largest=Measure("largest score", "score", (), largest),
        exponentials=Measure("exp(score − largest)", "share", ("key",), exponentials),
        total=Measure("sum of exp(score − largest)", "share", (), total),
        weights=Measure("attention weight", "probability", ("key",), weights),
        z=_activation("weighted sum of values", z, "d_value"),
        output=_activation("output", z @ W_O, "d_model"),
        biased=None if bias is None else Measure("score with the position's bias", "score", ("key",), biased),
        capped=None if soft_cap is None else Measure("score behind the soft cap", "score", ("key",), capped),
        sink=None if sink is None else Measure("sink's score", "score", (), of_sink[0]),
        first_q=None if first is None else _activation("query as it is read", first[0], "d_head"),
        first_k=None if first is None else _activation("keys as they are read", first[1], "key", "d_head"),
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
