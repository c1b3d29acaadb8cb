"""What is added to attention scores for the distance between query and key."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headlight.model.config import TransformerConfig
from headlight.model.layers.positions import Positions


class Alibi(nn.Module):
    """Takes from each score the distance times a slope of the head's own.

    Source: Press et al. 2021, "Train Short, Test Long".
    """

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads

    def forward(self, positions: Positions) -> Float[Tensor, "#batch head query key"]:
        slopes = torch.tensor(alibi_slopes(self.n_heads), device=positions.key.device)
        return -slopes[:, None, None] * positions.distances().float()


def alibi_slopes(n_heads: int) -> list[float]:
    """A slope for each head: powers of 2^(-8/n) for the largest power of two n, and between them for the rest."""
    n = 2 ** math.floor(math.log2(n_heads))
    slopes = [2 ** (-8 * (head + 1) / n) for head in range(n)]
    return slopes + [2 ** (-4 * (2 * head + 1) / n) for head in range(n_heads - n)]


def build_bias(cfg: TransformerConfig) -> nn.Module | None:
    """What a config's layers add to scores; None where they add nothing."""
    return Alibi(cfg.n_heads) if cfg.positional_embedding_type == "alibi" else None
