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

    def __init__(self, n_heads: int, scale: float) -> None:
        super().__init__()
        self.n_heads, self.scale = n_heads, scale

    def forward(self, positions: Positions) -> Float[Tensor, "#batch head query key"]:
        return -self.scale * self._slopes(positions) * positions.distances().float()

    def _slopes(self, positions: Positions) -> Float[Tensor, "head 1 1"]:
        return torch.tensor(alibi_slopes(self.n_heads), device=positions.key.device)[:, None, None]


class RoundedAlibi(Alibi):
    """ALiBi in bfloat16: what a key's position adds is rounded, so that it is not the distance alone that counts.

    Source: transformers' modeling_falcon.
    """

    def forward(self, positions: Positions) -> Float[Tensor, "#batch head query key"]:
        slopes = self._slopes(positions).bfloat16()
        of_key, of_query = (
            (slopes * where).float() for where in (positions.key[:, None, None, :], positions.query[:, None, :, None])
        )
        return self.scale * (of_key - of_query)


def alibi_slopes(n_heads: int) -> list[float]:
    """A slope for each head: powers of 2^(-8/n) for the largest power of two n, and between them for the rest."""
    n = 2 ** math.floor(math.log2(n_heads))
    slopes = [2 ** (-8 * (head + 1) / n) for head in range(n)]
    return slopes + [2 ** (-4 * (2 * head + 1) / n) for head in range(n_heads - n)]


def build_bias(cfg: TransformerConfig) -> nn.Module | None:
    """What a config's layers add to scores; None where they add nothing."""
    if cfg.positional_embedding_type != "alibi":
        return None
    return (RoundedAlibi if cfg.alibi_in_bfloat16 else Alibi)(cfg.n_heads, cfg.alibi_scale)
