"""From queries and keys to scores, and from scores to a pattern."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from einops import einsum
from jaxtyping import Float
from torch import Tensor

from headlight.model.nn.layers.positions import Mask, Rows

Queries = Float[Tensor, "batch query head d_head"]
Keys = Float[Tensor, "_ key kv_head d_head"]  # as many as heads, or one for each group of heads
Scores = Float[Tensor, "_ head query key"]


@dataclass(frozen=True, eq=False)
class ScoreRule:
    """Rule by which a layer computes scores (row = query, column = key) and the pattern.

    The dot products are divided by `attn_scale`; `bias` is added; then comes `soft_cap`, then the mask. `sinks` are
    scores that take part in the softmax and are dropped from the pattern, so that its rows sum to less than 1.
    `is_causal` says that each query sees itself and all before it: a long prompt's mask takes long to go through.
    `mask_of` builds the mask of some queries, or of all.
    """

    mask_of: Callable[[Rows], Mask]
    attn_scale: float
    bias: Float[Tensor, "#batch #head #query key"] | None = None
    soft_cap: float | None = None
    sinks: Float[Tensor, " head"] | None = None
    is_causal: bool = False

    @property
    def mask(self) -> Mask:
        """True where a query sees a key."""
        return self.mask_of(None)

    @property
    def is_plain(self) -> bool:
        """Whether a score is a scaled dot product, and a pattern the softmax of scores."""
        return self.bias is None and self.soft_cap is None and self.sinks is None

    def is_like(self, other: "ScoreRule") -> bool:
        """Whether the other, of the same pass, comes to the same scores and patterns, as most layers' rules do."""
        same = self.mask is other.mask and self.attn_scale == other.attn_scale
        return same and self.is_plain and other.is_plain

    def of_heads(self, heads: slice) -> "ScoreRule":
        """The rule of some of the heads."""
        bias = self.bias if self.bias is None or self.bias.shape[1] == 1 else self.bias[:, heads]
        return replace(self, bias=bias, sinks=None if self.sinks is None else self.sinks[heads])

    def of_queries(self, rows: list[int] | slice) -> "ScoreRule":
        """The rule of some of the queries."""
        bias = self.bias if self.bias is None or self.bias.shape[2] == 1 else self.bias[:, :, rows]
        mask = self.mask_of(rows)
        return replace(
            self, mask_of=lambda more: mask if more is None else mask[:, :, more], bias=bias, is_causal=False
        )

    def scores(self, q: Queries, k: Keys) -> Scores:
        """Scores before the softmax, -inf where the query does not see the key."""
        scores = dots(q / self.attn_scale, k)
        if self.bias is not None:
            scores = scores + self.bias
        if self.soft_cap is not None:
            scores = self.soft_cap * (scores / self.soft_cap).tanh()
        return scores.masked_fill_(~self.mask, -torch.inf)  # in place: a copy would be as large as all of the layer's

    def pattern(self, scores: Scores, out: Scores | None = None) -> Scores:
        """Softmax over keys; zeros for a query that sees no key, where softmax alone would give NaN."""
        if self.sinks is not None:
            sink = self.sinks[:, None, None].expand(*scores.shape[:3], 1)
            return torch.softmax(torch.cat([scores, sink.to(scores)], -1), -1)[..., :-1]
        pattern = torch.softmax(scores, -1, out=out)
        blind = ~self.mask.any(-1, keepdim=True)
        return pattern.masked_fill(blind, 0.0) if blind.any() else pattern


def dots(q: Queries, k: Keys) -> Scores:
    """Dot products of each head's queries with its keys, or its group's."""
    if q.shape[2] == k.shape[2]:
        return einsum(q, k, "batch query head d_head, batch key head d_head -> batch head query key")
    q = q.unflatten(2, (k.shape[2], -1))
    grouped = "batch query kv group d_head, batch key kv d_head -> batch kv group query key"
    return einsum(q, k, grouped).flatten(1, 2)


def mix(pattern: Scores, v: Float[Tensor, "_ key kv_head d_value"]) -> Float[Tensor, "_ query head d_value"]:
    """Each head's values, or its group's, weighted by its pattern."""
    if pattern.shape[1] == v.shape[2]:
        return einsum(pattern, v, "batch head query key, batch key head d_head -> batch query head d_head")
    pattern = pattern.unflatten(1, (v.shape[2], -1))
    grouped = "batch kv group query key, batch key kv d_head -> batch query kv group d_head"
    return einsum(pattern, v, grouped).flatten(2, 3)
