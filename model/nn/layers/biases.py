"""Position biases of attention scores: ALiBi and relative position biases."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.layers.parameters import normal
from headlight.model.nn.layers.positions import Positions


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
        return torch.tensor(alibi_slopes(self.n_heads)).to(positions.key.device)[:, None, None]


class RoundedAlibi(Alibi):
    """ALiBi in bfloat16: the bias of a key's position is rounded, so that it depends on more than the distance.

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


class RelativePositionalBias(nn.Module):
    """Adds to each score a number that each head has learned for the range of distances that this one is in.

    A range for each small distance, then ever longer ones; where queries look to both sides, half of them for either.

    Source: Raffel et al. 2020, "T5"; TransformerLens for the name of the parameter.
    """

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        self.weight = normal(cfg.relative_attention_num_buckets, cfg.n_heads)
        self.max_distance = cfg.relative_attention_max_distance
        self.both_sides = cfg.attention_dir == "bidirectional"

    def forward(self, positions: Positions) -> Float[Tensor, "#batch head query key"]:
        return positions.once(self, lambda: self._of(positions.distances()[:, 0]))

    def _of(self, distances: Int[Tensor, "#batch query key"]) -> Float[Tensor, "#batch head query key"]:
        return self.weight[self._buckets(distances)].movedim(-1, 1)

    def _buckets(self, distances: Int[Tensor, "#batch query key"]) -> Int[Tensor, "#batch query key"]:
        n_buckets = len(self.weight) // 2 if self.both_sides else len(self.weight)
        size, n_exact = (distances.abs() if self.both_sides else distances.clamp(min=0)), n_buckets // 2
        growth = torch.log(size.clamp(min=1).float() / n_exact) / math.log(self.max_distance / n_exact)
        long = n_exact + (growth * (n_buckets - n_exact)).long()
        bucket = torch.where(size < n_exact, size, long.clamp(max=n_buckets - 1))
        return bucket + n_buckets * (distances < 0) if self.both_sides else bucket


class DisentangledBias(nn.Module):
    """Disentangled attention: the query's and the key's products with distance embeddings, added to each score.

    `K` and `Q` are keys and queries of distances, from the farthest behind a query's token to the farthest before it.

    Source: He et al. 2020, "DeBERTa"; transformers' modeling_deberta_v2 for the buckets.
    """

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        self.max_distance, self.n_buckets = cfg.relative_attention_max_distance, cfg.position_buckets
        self.span = self.n_buckets or self.max_distance
        shape = (2 * self.span, cfg.n_heads, cfg.d_head)
        self.K = normal(*shape) if "c2p" in cfg.disentangled_attention else None
        self.Q = normal(*shape) if "p2c" in cfg.disentangled_attention else None

    def forward(
        self,
        positions: Positions,
        q: Float[Tensor, "batch query head d_head"],
        k: Float[Tensor, "batch key head d_head"],
    ) -> Float[Tensor, "batch head query key"]:
        """The sum of both, before it is divided as the scores are."""
        buckets = self._buckets(positions.distances())
        places = (buckets + self.span).clamp(0, 2 * self.span - 1)
        bias = q.new_zeros(len(q), q.shape[2], *places.shape[2:])
        if self.K is not None:
            of_query = torch.einsum("bqhd,rhd->bhqr", q, self.K)
            bias = bias + of_query.gather(-1, places.expand_as(bias))
        if self.Q is not None:
            of_key = torch.einsum("bkhd,rhd->bhrk", k, self.Q)
            bias = bias + of_key.gather(-2, places.expand_as(bias))
        return bias

    def _buckets(self, distances: Int[Tensor, "#batch 1 query key"]) -> Int[Tensor, "#batch 1 query key"]:
        if not self.n_buckets:
            return distances
        n_exact, size = self.n_buckets // 2, distances.abs()
        growth = torch.log(size.clamp(min=1) / n_exact) / torch.log(torch.tensor((self.max_distance - 1) / n_exact))
        long = torch.ceil(growth * (n_exact - 1)) + n_exact
        return torch.where(size <= n_exact, distances, (long * distances.sign()).long())


class SharedBias(nn.Module):
    """Another layer's bias; no parameters of its own."""

    def __init__(self, bias: nn.Module) -> None:
        super().__init__()
        self._bias = [bias]  # in a list, so that its parameters are not registered a second time

    def forward(self, positions: Positions) -> Float[Tensor, "#batch head query key"]:
        return self._bias[0](positions).to(positions.key.device)


def build_bias(cfg: TransformerConfig) -> nn.Module | None:
    """The position bias of a config's layers; None without one."""
    if cfg.has_relative_bias:
        return RelativePositionalBias(cfg)
    if cfg.positional_embedding_type != "alibi":
        return None
    return (RoundedAlibi if cfg.alibi_in_bfloat16 else Alibi)(cfg.n_heads, cfg.alibi_scale)
