"""Multi-head attention, and the scores, patterns and masks that it is made of."""

import torch
from einops import einsum
from jaxtyping import Bool, Float
from torch import Tensor, nn

from headlight.model import kernels
from headlight.model.config import TransformerConfig
from headlight.model.hooks import Look, Tap
from headlight.model.kernels import product, products
from headlight.model.layers.dropout import Dropout
from headlight.model.layers.parameters import normal, per_head, zeros

Mask = Bool[Tensor, "#batch 1 query key"]  # true where the query sees the key


class Attention(nn.Module):
    """Multi-head attention, row = query and column = key: of a sequence to itself, or to a memory beside it."""

    def __init__(self, cfg: TransformerConfig, layer: int) -> None:
        super().__init__()
        assert cfg.d_value is not None  # filled in by the config
        self.W_Q, self.W_K = (per_head(cfg.n_heads, cfg.d_model, cfg.d_head) for _ in range(2))
        self.W_V = per_head(cfg.n_heads, cfg.d_model, cfg.d_value)
        self.W_O = normal(cfg.n_heads, cfg.d_value, cfg.d_model)
        self.b_Q, self.b_K = (zeros(cfg.n_heads, cfg.d_head) for _ in range(2))
        self.b_V, self.b_O = zeros(cfg.n_heads, cfg.d_value), zeros(cfg.d_model)
        self.attn_scale = attention_scale(cfg, layer)
        self.dropout = Dropout(cfg.dropout)

    def forward(
        self,
        normalized_resid_pre: Float[Tensor, "batch query d_model"],
        mask: Mask,
        tap: Tap,
        memory: Float[Tensor, "batch memory d_model"] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Every head's output, summed. A query that sees no key attends to nothing: its row is zero.

        Keys and values are made of `memory` if that is given (cross-attention), else of the queries' own stream. A tap
        may put those of earlier positions before them, which `mask` then counts.
        """
        to_heads = "batch pos d_model, head d_model d_head -> batch pos head d_head"
        if memory is None:
            weights, biases = (self.W_Q, self.W_K, self.W_V), (self.b_Q, self.b_K, self.b_V)
            q, k, v = products(normalized_resid_pre, weights, to_heads, biases)
        else:
            q = product(normalized_resid_pre, self.W_Q, to_heads, self.b_Q)
            k, v = product(memory, self.W_K, to_heads, self.b_K), product(memory, self.W_V, to_heads, self.b_V)
        q, k, v = tap("hook_q", q), tap("hook_k", k), tap("hook_v", v)
        z = tap("hook_z", self._attend(q, k, v, mask, tap))
        if tap.look("hook_result") is not Look.NEVER:
            to_result = "batch query head d_head, head d_head d_model -> batch query head d_model"
            return tap("hook_result", einsum(z, self.W_O, to_result)).sum(2) + self.b_O
        return product(z, self.W_O, "batch query head d_head, head d_head d_model -> batch query d_model", self.b_O)

    def _attend(
        self,
        q: Float[Tensor, "batch query head d_head"],
        k: Float[Tensor, "batch key head d_head"],
        v: Float[Tensor, "batch key head d_value"],
        mask: Mask,
        tap: Tap,
    ) -> Float[Tensor, "_ query head d_value"]:
        """Every head's mixture of values, weighted by its pattern."""
        _Attended(q, k, mask, self.attn_scale).leave(tap)
        drops = self.training and self.dropout.p
        if not drops and (z := kernels.attend(q, k, v, mask, self.attn_scale, tap)) is not None:
            return z
        scores = tap("hook_attn_scores", attention_scores(q, k, mask, self.attn_scale))
        pattern = attention_pattern(scores, mask)
        del scores  # as large as the pattern, and not needed while the tap looks at that
        pattern = self.dropout(tap("hook_pattern", pattern))
        return einsum(pattern, v, "batch head query key, batch key head d_head -> batch query head d_head")


class _Attended:
    """What a layer's scores and pattern are computed from when they are read after the pass, in the pass's own steps.

    Scores that were read are kept for the pattern: both together take one product and no more memory than they are.
    """

    def __init__(
        self,
        q: Float[Tensor, "batch query head d_head"],
        k: Float[Tensor, "batch key head d_head"],
        mask: Mask,
        attn_scale: float,
    ) -> None:
        self._given = q, k, mask, attn_scale
        self._scores: Tensor | None = None

    def leave(self, tap: Tap) -> None:
        """Give the tap what computes those that it looks at later."""
        for name, compute in (("hook_attn_scores", self.scores), ("hook_pattern", self.pattern)):
            if tap.look(name) is Look.LATER:
                tap.later(name, compute)

    def scores(self) -> Float[Tensor, "batch head query key"]:
        self._scores = self._made()
        return self._scores

    def pattern(self) -> Float[Tensor, "batch head query key"]:
        _, _, mask, _ = self._given
        with torch.inference_mode():
            if self._scores is not None:
                return attention_pattern(self._scores, mask)
            scores = self._made()
            return attention_pattern(scores, mask, out=scores)

    def _made(self) -> Float[Tensor, "batch head query key"]:
        with torch.inference_mode():
            fast = kernels.attention_scores(*self._given)
            return attention_scores(*self._given) if fast is None else fast


def attention_scale(cfg: TransformerConfig, layer: int) -> float:
    """What a layer's scores are divided by (Source: GPT2Attention in transformers for the layer's share)."""
    assert cfg.attn_scale is not None  # filled in by the config
    return cfg.attn_scale * (layer + 1 if cfg.scale_attn_by_inverse_layer_idx else 1)


def attention_scores(
    q: Float[Tensor, "batch query head d_head"],
    k: Float[Tensor, "batch key head d_head"],
    mask: Mask,
    attn_scale: float,
) -> Float[Tensor, "batch head query key"]:
    """Scaled dot products of queries and keys, -inf where the query does not see the key."""
    scores = einsum(q / attn_scale, k, "batch query head d_head, batch key head d_head -> batch head query key")
    return scores.masked_fill_(~mask, -torch.inf)  # in place: a copy would be as large as all patterns of the layer


def attention_pattern(
    scores: Float[Tensor, "batch head query key"],
    mask: Mask,
    out: Float[Tensor, "batch head query key"] | None = None,
) -> Float[Tensor, "batch head query key"]:
    """Softmax over keys; zeros for a query that sees no key, where softmax alone would give NaN."""
    pattern = torch.softmax(scores, -1, out=out)
    blind = ~mask.any(-1, keepdim=True)
    return pattern.masked_fill(blind, 0.0) if blind.any() else pattern


def build_mask(
    attention_dir: str,
    attention_mask: Bool[Tensor, "batch key"] | None,
    n_key: int,
    device: torch.device,
    n_query: int | None = None,
) -> Bool[Tensor, "#batch 1 query key"]:
    """Which keys each query may attend to: none after itself if causal, and never a padding token.

    There are as many queries as keys, or the last `n_query` of them where those before were run already.
    """
    n_query = n_key if n_query is None else n_query
    mask = torch.ones(1, 1, n_query, n_key, dtype=torch.bool, device=device)
    if attention_dir == "causal":
        mask = mask.tril(n_key - n_query)
    return mask if attention_mask is None else mask & attention_mask[:, None, None, :]
