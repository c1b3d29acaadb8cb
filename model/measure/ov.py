"""Copying by a head, measured by the eigenvalues of its OV circuit."""

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.measure import Measure
from headlight.model.measure.head_steps import Norm
from headlight.model.measure.score_parts import rescaled

BLOCK = 8192  # tokens of the vocabulary at once


def through_vocabulary(
    W_U: Float[Tensor, "d_model d_vocab"], W_E: Float[Tensor, "d_vocab d_model"]
) -> Float[Tensor, "d_model d_model"]:
    """W_U W_E, by which a circuit from tokens to tokens closes to a loop: the one pass over the vocabulary."""
    total = torch.zeros(W_U.shape[0], W_E.shape[1], dtype=torch.float64, device=W_E.device)
    for columns, rows in zip(W_U.split(BLOCK, dim=1), W_E.split(BLOCK), strict=True):
        total += (columns @ rows).double()  # a block in float32: in float64 it takes four times as long
    return total


def reading(W: Float[Tensor, "*head d_model d_value"], norm: Norm | None) -> Float[Tensor, "*head a b"]:
    """A matrix that reads the stream, with the norm before it: its centring and its gain; not its scale."""
    if norm is None:
        return W
    scaled = W if norm.w is None else norm.w.to(W)[:, None] * W
    return scaled - scaled.mean(-2, keepdim=True) if norm.centred else scaled


def writing(W: Float[Tensor, "*head d_value d_model"], norm: Norm | None) -> Float[Tensor, "*head a b"]:
    """A matrix that writes to the stream, with a norm behind it: its centring and its gain; not its scale."""
    return W if norm is None else rescaled(W, norm, 1.0)


def copying_scores(
    W_V: Float[Tensor, "head d_model d_value"],
    W_O: Float[Tensor, "head d_value d_model"],
    loop: Float[Tensor, "d_model d_model"],
) -> Measure:
    """Copying score of each head, from 1 (raises the logit of the attended token) to -1 (suppresses it).

    The sum of the real parts of the eigenvalues of W_E W_V W_O W_U over the sum of their sizes; NaN where all are 0.
    A product has the same eigenvalues other than 0 in whichever order its factors stand, so those of W_O W_U W_E W_V
    are taken, which is as small as a head; `loop` is `through_vocabulary`. To have the norms counted, give
    `reading` and `writing` of the matrices.

    Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", on the OV circuit's eigenvalues.
    """
    values = torch.linalg.eigvals(W_O.double() @ loop @ W_V.double())
    scores = (values.real.sum(-1) / values.abs().sum(-1)).float()
    return Measure("copying score", "share", ("head",), scores)
