"""Measure dictionaries on held-out text: reconstruction error, and loss with them spliced in."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from headlight.model.features.splice import Splice
from headlight.model.nn.hooks import NO_TAP, Look, Tap
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.dictionary import Dictionary
from headlight.model.training.dictionaries.recipe import Rows, activations

N_ROWS, N_POS = 256, 128


@dataclass(frozen=True)
class Figures:
    """One dictionary's: shares of variance, of loss (by zero and by mean ablation) and of features, and counts.

    `recovered` is how much of what ablating the activation costs is not lost with the dictionary in its place.
    `l0` is how many features are active at a position, `alive` the share of all that are active anywhere.
    """

    explained: float
    recovered: float
    recovered_of_mean: float
    loss: float
    loss_in_place: float
    l0: float
    alive: float


class _Put(Tap):
    """Puts one vector in an activation's place, everywhere."""

    def __init__(self, name: str, vector: Float[Tensor, " width"]) -> None:
        self._name, self._vector = name, vector

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        if name != self._name:
            return activation
        return self._vector.reshape(activation.shape[2:]).expand_as(activation)

    def look(self, name: str) -> Look:
        return Look.WHOLE if name == self._name else Look.NEVER


def tokens_of(rows: Rows) -> Int[Tensor, "row pos"]:
    """The rows that figures are measured on: the same at each measurement."""
    return rows.batch(N_ROWS, N_POS, np.random.default_rng((0, N_ROWS)))


@torch.inference_mode()
def loss_of(model: Transformer, tokens: Int[Tensor, "row pos"], tap: Tap = NO_TAP) -> float:
    """The mean loss of the next token (nats)."""
    return float(F.cross_entropy(model(tokens, tap=tap)[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()))


@torch.inference_mode()
def figures(model: Transformer, dictionary: Dictionary, tokens: Int[Tensor, "row pos"]) -> Figures:
    """A dictionary's figures on some rows; only of what it writes to its first output."""
    hook = dictionary.hooks_out[0]
    cached = activations(model, tokens, frozenset((dictionary.hook_in, hook)))
    read, target = cached[dictionary.hook_in], cached[hook]
    acts = dictionary.encode(read)
    mean = target.mean(0)
    left = (target - dictionary.decode(acts, read)).square().sum() / (target - mean).square().sum()
    own, placed = loss_of(model, tokens), loss_of(model, tokens, Splice([dictionary], [hook]))
    ablated = [loss_of(model, tokens, _Put(hook, vector)) for vector in (torch.zeros_like(mean), mean)]
    return Figures(
        explained=1 - float(left),
        recovered=(ablated[0] - placed) / (ablated[0] - own),
        recovered_of_mean=(ablated[1] - placed) / (ablated[1] - own),
        loss=own,
        loss_in_place=placed,
        l0=float((acts > 0).sum(-1).float().mean()),
        alive=float((acts > 0).any(0).float().mean()),
    )


@torch.inference_mode()
def agreement(one: Dictionary, other: Dictionary) -> Float[Tensor, " feature"]:
    """For each feature of one, the cosine of its decoder row with the nearest row of the other, such as another seed's.

    Source: Sharkey et al. 2022, "Taking features out of superposition with sparse autoencoders" (mean max cosine).
    """
    rows = [F.normalize(each.decoder_rows(range(each.n_features)), dim=-1) for each in (one, other)]
    return (rows[0] @ rows[1].T).max(1).values
