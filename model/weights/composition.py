"""Composition scores of heads, from the weights alone.

An earlier head writes x W_V W_O. A later one reads the stream by its query, its key or its value; the score is the
size of the two circuits' product over the product of their sizes: 1 where all that the one writes is what the other
reads, and about 1/√d_model for matrices that have nothing to do with each other.

Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", on virtual weights and composition.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.linalg import matrix_norm

from headlight.model.measure import Measure
from headlight.model.measure.head_steps import Norm
from headlight.model.measure.ov import reading

Through = Literal["query", "key", "value"]


@dataclass(frozen=True, eq=False)
class Product:
    """Matrices from stream to stream, each the product of two factors, `reads` first."""

    reads: Float[Tensor, "*head d_model rank"]
    writes: Float[Tensor, "*head rank d_model"]


def reader(
    through: Through,
    W_Q: Float[Tensor, "*head d_model d_head"],
    W_K: Float[Tensor, "*head d_model d_head"],
    W_V: Float[Tensor, "*head d_model d_value"],
    W_O: Float[Tensor, "*head d_value d_model"],
    norm: Norm | None = None,
) -> Product:
    """A head's circuit with the side first by which it reads: W_Q W_Kᵀ, W_K W_Qᵀ or W_V W_O.

    The `norm` before the head is counted by its centring and its gain.
    """
    W_Q, W_K, W_V = (reading(W, norm) for W in (W_Q, W_K, W_V))
    match through:
        case "query":
            return Product(W_Q, W_K.mT)
        case "key":
            return Product(W_K, W_Q.mT)
        case "value":
            return Product(W_V, W_O)


def composition(earlier: Product, later: Product) -> Float[Tensor, "*head"]:
    """‖first second‖ / (‖first‖ ‖second‖) in Frobenius norms, for each pair of the two; NaN where one of them is 0.

    Nothing of d_model x d_model is made: a thin factor's triangle (QR) has the same length in every direction.
    """
    first, last = _triangle(earlier.reads), _triangle(later.writes.mT).mT
    between = earlier.writes.double() @ later.reads.double()
    inner = _triangle(earlier.writes.mT).mT, _triangle(later.reads)
    sizes = matrix_norm(first @ inner[0]) * matrix_norm(inner[1] @ last)
    return (matrix_norm(first @ between @ last) / sizes).float()


def size(product: Product) -> Float[Tensor, "*head"]:
    """‖reads writes‖ in the Frobenius norm, by the factors' products with themselves, which are as small as a head."""
    reads, writes = product.reads.double(), product.writes.double()
    return ((reads.mT @ reads) * (writes @ writes.mT)).sum((-2, -1)).clamp_min(0).sqrt()


def read_by(
    earlier: Product, direction: Float[Tensor, " d_model"], sizes: Float[Tensor, "*head"]
) -> Float[Tensor, "*head"]:
    """The `composition` of each earlier head with a reader of the stream along one direction, such as a neuron.

    `sizes` are those of the earlier, which are the same for every direction.
    """
    products = (earlier.reads.double() @ (earlier.writes.double() @ direction.double())[..., None])[..., 0]
    return (products.norm(dim=-1) / (sizes * direction.double().norm())).float()


def reading_of(
    direction: Float[Tensor, " d_model"], later: Product, sizes: Float[Tensor, "*head"]
) -> Float[Tensor, "*head"]:
    """The `composition` of a writer along one direction, such as a neuron, with each later head."""
    products = ((direction.double() @ later.reads.double())[..., None, :] @ later.writes.double())[..., 0, :]
    return (products.norm(dim=-1) / (sizes * direction.double().norm())).float()


def of_a_random_direction(d_model: int) -> float:
    """The root mean square composition of a random direction with any circuit: 1/√d_model."""
    return d_model**-0.5


def _triangle(thin: Float[Tensor, "*head d_model rank"]) -> Float[Tensor, "*head rows rank"]:
    return torch.linalg.qr(thin.double(), mode="r").R


@dataclass(frozen=True, eq=False)
class Baseline:
    """Composition of random heads of the same shapes: mean and standard deviation []."""

    mean: Measure
    sd: Measure


def random_composition(
    through: Through,
    d_model: int,
    d_head: int,
    d_value: int,
    norm: Norm | None = None,
    n: int = 64,
    seed: int = 0,
) -> Baseline:
    """The scores of n pairs of heads whose weights are drawn from a normal distribution; the later reads by `norm`."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(n, *shape, generator=generator, dtype=torch.float64)

    earlier = Product(draw(d_model, d_value), draw(d_value, d_model))
    W_Q, W_K, W_V, W_O = (draw(d_model, size) for size in (d_head, d_head, d_value, d_value))
    later = reader(through, W_Q, W_K, W_V, W_O.mT, norm)
    scores = composition(earlier, later)
    name = f"{through} composition of random heads"
    return Baseline(
        Measure(f"{name}, mean", "share", (), scores.mean()), Measure(f"{name}, sd", "share", (), scores.std())
    )
