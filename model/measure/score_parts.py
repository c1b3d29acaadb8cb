"""Why a head looks there: one pre-softmax score as a sum over the parts of the query's stream and of the key's.

A stream is the sum of what wrote to it. A norm takes a mean off, if it is LayerNorm, and divides by a scale; with that
scale frozen to the run's own, both are linear, and so is everything up to the score, the turning by rotary positions
included: it is a sum over pairs of parts, and nothing is left.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from headlight.model.measure import Measure
from headlight.model.measure.head_steps import Norm

Parts = Float[Tensor, "part d_model"]
Rows = Float[Tensor, "row d_head"]


def normalized(parts: Parts, stream: Float[Tensor, " d_model"], norm: Norm | None) -> Parts:
    """Norm applied to each part of a stream: (part - its mean) / the stream's scale, times the gain.

    The bias belongs to no part: with it they add up to the normalised stream, if `parts` add up to `stream`. RMSNorm
    takes no mean off; without a norm the parts are as they were. In float64, so that sums of many parts add up.
    """
    return parts.double() if norm is None else rescaled(parts.double(), norm, scale_of(stream, norm))


def scale_of(stream: Float[Tensor, " d_model"], norm: Norm) -> Float[Tensor, ""]:
    """Divisor of a norm for a stream, in float64."""
    centred = stream.double() - stream.double().mean() if norm.centred else stream.double()
    return (centred.square().mean() + norm.eps).sqrt()


def rescaled(
    parts: Float[Tensor, "*part width"], norm: Norm, scale: float | Float[Tensor, ""]
) -> Float[Tensor, "*part width"]:
    """Norm with this scale applied to each part of a vector; its bias belongs to no part."""
    scaled = (parts - parts.mean(-1, keepdim=True) if norm.centred else parts) / scale
    return scaled if norm.w is None else scaled * norm.w.to(parts)


def read_back(
    direction: Float[Tensor, " width"], norm: Norm, scale: float | Float[Tensor, ""]
) -> Float[Tensor, " width"]:
    """Vector whose product with a part equals the direction's product with the part after `rescaled`."""
    back = (direction if norm.w is None else direction * norm.w.to(direction)) / scale
    return back - back.mean() if norm.centred else back


def projected(
    parts: Parts,
    stream: Float[Tensor, " d_model"],
    norm: Norm | None,
    W: Float[Tensor, "d_model d_head"],
    b: Float[Tensor, " d_head"],
) -> Rows:
    """Contribution of each part to a head's query (W_Q, b_Q) or key (W_K, b_K), in rows that sum to it.

    After the parts come LayerNorm's bias (zeros where there is none) and the head's own.
    """
    W, b = W.double(), b.double()
    rows = normalized(parts, stream, norm) @ W
    of_norm = torch.zeros_like(b) if norm is None or norm.b is None else norm.b.double() @ W
    return torch.cat([rows, of_norm[None], b[None]])


def clipped(rows: Float[Tensor, "part width"], limit: float) -> Float[Tensor, "part_and_rest width"]:
    """Rows that sum to a vector clipped at -limit and limit, of rows that sum to it before.

    Components inside keep their parts; of those beyond, which no part changes any more, the last row is the value.
    """
    whole = rows.sum(0)
    is_inside = whole.abs() < limit
    return torch.cat([rows * is_inside, (whole.clamp(-limit, limit) * ~is_inside)[None]])


@dataclass(frozen=True, eq=False)
class ScoreParts:
    """A score [] and its parts: row i of `matrix` is part i of the query, column j part j of the key.

    `query_parts` and `key_parts` are the sums of rows and columns. `residual` [] is how far the sum of the matrix is
    from the score that the run itself has.
    """

    matrix: Measure
    query_parts: Measure
    key_parts: Measure
    score: Measure
    residual: Measure


def score_parts(
    query: Float[Tensor, "query_part d_head"],
    key: Float[Tensor, "key_part d_head"],
    attn_scale: float,
    score: float,
    bias: float | None = None,
) -> ScoreParts:
    """Split the score of a query and a key, both as rows from `projected`, into its parts.

    A `bias` that the model adds to the score has the last row and column, which are empty beside it.

    Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", for the sum over pairs of paths.
    """
    matrix = query @ key.T / attn_scale
    if bias is not None:
        matrix = F.pad(matrix, (0, 1, 0, 1))
        matrix[-1, -1] = bias
    axes = ("query part", "key part")
    return ScoreParts(
        matrix=Measure("part of the score", "score", axes, matrix),
        query_parts=Measure("query's part of the score", "score", axes[:1], matrix.sum(1)),
        key_parts=Measure("key's part of the score", "score", axes[1:], matrix.sum(0)),
        score=Measure("pre-softmax score", "score", (), torch.tensor(score, dtype=torch.float64)),
        residual=Measure("sum of the parts − score", "score", (), matrix.sum() - score),
    )
