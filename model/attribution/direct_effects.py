"""Direct logit attribution: contribution of each part of the stream to the difference of two logits.

The final LayerNorm's scale is fixed to the run's own, which makes the way from the stream to the logits linear: the
effects of all parts add up to the difference. That is the direct effect alone; what later layers make of a part is
counted as theirs.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.measure import Measure, Unit
from headlight.model.measure.best import best
from headlight.model.measure.head_steps import Norm, normalize
from headlight.model.measure.score_parts import Parts, normalized, read_back, scale_of

Vector = Float[Tensor, " d_model"]


def direct_effects(parts: Parts, stream: Vector, norm: Norm | None, direction: Vector) -> Measure:
    """Return each part's direct effect on target minus distractor (logits) [part].

    `direction` is the target's column of W_U less the distractor's. With `constant_effects` they add up to the
    difference, if `parts` add up to `stream`.

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens"; Elhage et al. 2021 for the sum over components.
    """
    return Measure("direct effect", "logits", ("part",), normalized(parts, stream, norm) @ direction.double())


def towards(stream: Vector, norm: Norm | None, direction: Vector) -> Vector:
    """The vector whose product with a part of a final stream is that part's direct effect, in float64.

    For more parts than are worth being normalised one by one.
    """
    return direction.double() if norm is None else read_back(direction.double(), norm, scale_of(stream, norm))


def constant_effects(norm: Norm | None, direction: Vector, bias: float) -> Measure:
    """The constants of target minus distractor (logits): LayerNorm's bias and the unembedding's [constant]."""
    of_norm = 0.0 if norm is None or norm.b is None else float(norm.b.double() @ direction.double())
    return Measure("direct effect", "logits", ("constant",), torch.tensor([of_norm, bias], dtype=torch.float64))


def difference_of(stream: Vector, norm: Norm | None, direction: Vector, bias: float) -> Measure:
    """Target minus distractor (logits) [] as the model's own last steps make it of a stream."""
    read = stream if norm is None else normalize(stream[None], norm).values.values[0]
    return Measure("logit difference", "logits", (), read.double() @ direction.double() + bias)


def lens_differences(streams: Iterable[Vector], norm: Norm | None, direction: Vector, bias: float) -> Measure:
    """Target minus distractor (logits) [layer] if the model stopped there, each stream at its own LayerNorm scale."""
    values = torch.stack([difference_of(stream, norm, direction, bias).values for stream in streams])
    return Measure("logit lens", "logits", ("layer",), values)


def edge_writes(
    weights: Float[Tensor, " key"], v: Float[Tensor, "key d_value"], W_O: Float[Tensor, "d_value d_model"]
) -> Measure:
    """A head's writes at a query by key [key, d_model]: weight times value, through W_O."""
    return Measure("write", "activation", ("key", "d_model"), (weights[:, None] * v) @ W_O)


@dataclass(frozen=True, eq=False)
class Promoted:
    """The k tokens (ids) whose logits a write raises most, best first, and those it lowers most, by how much.

    There are fewer where fewer are raised or lowered at all.
    """

    raised: Measure
    raised_by: Measure
    lowered: Measure
    lowered_by: Measure


@torch.no_grad()
def promoted(
    write: Vector, stream: Vector, norm: Norm | None, W_U: Float[Tensor, "d_model d_vocab"], k: int
) -> Promoted:
    """The tokens on which a write's `token_effects` are largest, and lowest.

    Raises:
        InputError: k is below 1.
    """
    return most_moved(token_effects(write, stream, norm, W_U), k)


def token_effects(
    write: Vector, stream: Vector, norm: Norm | None, W_U: Float[Tensor, "d_model d_vocab"]
) -> Float[Tensor, " d_vocab"]:
    """A write's direct effect on every token's logit, at the LayerNorm scale of its stream."""
    return normalized(write[None], stream, norm)[0].to(W_U.dtype) @ W_U


def most_moved(
    values: Float[Tensor, " d_vocab"], k: int, name: str = "direct effect", unit: Unit = "logits"
) -> Promoted:
    """The k tokens with the largest effects above 0, and those with the lowest below; or of whatever the values are."""
    up, down = best(values, k), best(values, k, lowest=True)
    raised, lowered = up.values > 0, down.values < 0
    return Promoted(
        raised=Measure("promoted", "token id", ("k",), up.indices[raised]),
        raised_by=Measure(name, unit, ("k",), up.values[raised]),
        lowered=Measure("suppressed", "token id", ("k",), down.indices[lowered]),
        lowered_by=Measure(name, unit, ("k",), down.values[lowered]),
    )
