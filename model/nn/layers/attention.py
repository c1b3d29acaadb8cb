"""Multi-head attention."""

from functools import partial
from typing import NamedTuple

import torch
from einops import einsum
from jaxtyping import Float
from torch import Tensor, nn

from headlight.model.compute import product, products
from headlight.model.nn import attention_kernel
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import Look, Tap
from headlight.model.nn.layers.biases import DisentangledBias, build_bias
from headlight.model.nn.layers.dropout import Dropout
from headlight.model.nn.layers.norms import NoNorm, build_head_norm
from headlight.model.nn.layers.parameters import normal, per_head, widened, zeros
from headlight.model.nn.layers.positions import Positions
from headlight.model.nn.layers.rotary import build_rotary
from headlight.model.nn.layers.scores import ScoreRule, mix


class HeadsRead(NamedTuple):
    """Queries of a layer's heads, and keys and values of each head or each group of heads."""

    q: Float[Tensor, "batch query head d_head"]
    k: Float[Tensor, "batch key kv_head d_head"]
    v: Float[Tensor, "batch key kv_head d_value"]


class Attention(nn.Module):
    """Multi-head attention, row = query and column = key: of a sequence to itself, or to a memory beside it."""

    W_K: Float[Tensor, "head d_model d_head"]
    W_V: Float[Tensor, "head d_model d_value"]
    b_K: Float[Tensor, "head d_head"]
    b_V: Float[Tensor, "head d_value"]

    def __init__(self, cfg: TransformerConfig, layer: int) -> None:
        super().__init__()
        assert cfg.d_value is not None  # filled in by the config
        n_heads, n_shared = cfg.n_heads, cfg.n_shared
        self.W_Q = per_head(n_heads, cfg.d_model, cfg.d_head)
        self._store("W_K", per_head(n_shared, cfg.d_model, cfg.d_head))
        self._store("W_V", per_head(n_shared, cfg.d_model, cfg.d_value))
        self.W_O = normal(n_heads, cfg.d_value, cfg.d_model)
        self.b_Q = zeros(n_heads, cfg.d_head)
        self._store("b_K", zeros(n_shared, cfg.d_head))
        self._store("b_V", zeros(n_shared, cfg.d_value))
        self.b_O = zeros(cfg.d_model)
        self.attn_scale, self.soft_cap = attention_scale(cfg, layer), cfg.attn_scores_soft_cap
        self.clip_qkv = cfg.clip_qkv
        self.window, self.rotary, self.rel_pos_bias = cfg.window(layer), build_rotary(cfg, layer), build_bias(cfg)
        self.norms_last = cfg.qk_norm_after_rotary
        self.q_norm, self.k_norm = (build_head_norm(cfg, heads) for heads in (n_heads, n_shared))
        self.sinks = zeros(cfg.n_heads) if cfg.use_attention_sinks else None
        self.disentangled = DisentangledBias(cfg) if cfg.disentangled_attention else None
        self.dropout = Dropout(cfg.dropout)

    def _store(self, name: str, parameter: nn.Parameter) -> None:
        """Register the module of keys or values under its checkpoint name."""
        self.register_parameter(name, parameter)

    @property
    def compared(self) -> tuple[str, str]:
        """Hook names of queries and keys as they enter the product."""
        return ("hook_q", "hook_k") if self.rotary is None else ("hook_rot_q", "hook_rot_k")

    def keys_and_values(self) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """The weights and the biases of keys and values, as they are stored."""
        return (self.W_K, self.W_V), (self.b_K, self.b_V)

    @property
    def has_plain_scores(self) -> bool:
        """Whether a score is a scaled dot product, a pattern the softmax of scores, and no window hides a key."""
        more = self.rel_pos_bias, self.disentangled, self.soft_cap, self.sinks, self.window
        return all(each is None for each in more)

    def forward(
        self,
        normalized_resid_pre: Float[Tensor, "batch query d_model"],
        positions: Positions,
        tap: Tap,
        memory: Float[Tensor, "batch memory d_model"] | None = None,
    ) -> Float[Tensor, "_ query d_model"]:
        """Every head's output, summed. A query that sees no key attends to nothing: its row is zero.

        Keys and values are made of `memory` if there is one (cross-attention), else of the queries' own stream. A tap
        may put those of earlier positions before them, which `positions` then counts.
        """
        q, k, v = self._turned(self.read(normalized_resid_pre, tap, memory), positions, tap)
        k, v = tap.with_past(k, v)
        z = tap("hook_z", self._attend(q, k, v, self.rule(positions, q, k), tap))
        if tap.look("hook_result") is not Look.NEVER:
            to_result = "batch query head d_head, head d_head d_model -> batch query head d_model"
            return tap("hook_result", einsum(z, widened(self.W_O), to_result)).sum(2) + self.b_O
        return product(z, self.W_O, "batch query head d_head, head d_head d_model -> batch query d_model", self.b_O)

    def read(
        self,
        stream: Float[Tensor, "batch query d_model"],
        tap: Tap,
        memory: Float[Tensor, "batch memory d_model"] | None = None,
    ) -> HeadsRead:
        """Queries, keys and values, before any of them is normalised or turned."""
        to_heads = "batch pos d_model, head d_model d_head -> batch pos head d_head"
        weights, biases = self.keys_and_values()
        if memory is None:
            q, k, v = products(stream, (self.W_Q, *weights), to_heads, (self.b_Q, *biases))
        else:
            q = product(stream, self.W_Q, to_heads, self.b_Q)
            k, v = (product(memory, W, to_heads, b) for W, b in zip(weights, biases, strict=True))
        q, k, v = (self.as_read(part, each) for part, each in zip("qkv", (q, k, v), strict=True))
        return HeadsRead(tap("hook_q", q), tap("hook_k", k), tap("hook_v", v))

    def as_read(
        self, part: str, projected: Float[Tensor, "*batch pos head d_head"]
    ) -> Float[Tensor, "*batch pos head d_head"]:
        """Queries, keys or values ("q", "k" or "v") of their projection: clipped, unless a norm comes before that."""
        is_normalized = part != "v" and not isinstance(self.q_norm, NoNorm)
        return projected if is_normalized else self._clipped(projected)

    def _clipped(self, x: Tensor) -> Tensor:
        return x if self.clip_qkv is None else x.clamp(-self.clip_qkv, self.clip_qkv)

    def _turned(self, read: HeadsRead, positions: Positions, tap: Tap) -> HeadsRead:
        """Queries or keys as they enter the product: normalised and rotated, where the model does that."""
        q, k, v = read
        if not self.norms_last:
            q, k = self._normalized(q, k, tap)
        if self.rotary is not None:
            waves = positions.waves(self.rotary)
            q, k = self.rotary.turn_queries(q, waves, positions.query), self.rotary.turn(k, waves)
        if self.norms_last:
            q, k = self._normalized(q, k, tap)
        return HeadsRead(q, k, v) if self.rotary is None else HeadsRead(tap("hook_rot_q", q), tap("hook_rot_k", k), v)

    def _normalized(self, q: Tensor, k: Tensor, tap: Tap) -> tuple[Tensor, Tensor]:
        """Queries and keys by their norms, where the model has those."""
        if isinstance(self.q_norm, NoNorm):
            return q, k
        q, k = self.q_norm(q, tap.within("q_norm")), self.k_norm(k, tap.within("k_norm"))
        return self._clipped(q), self._clipped(k)

    def rule(
        self,
        positions: Positions,
        q: Float[Tensor, "batch query head d_head"] | None = None,
        k: Float[Tensor, "batch key kv_head d_head"] | None = None,
    ) -> ScoreRule:
        """Rule that turns queries and keys, as they enter the product, into scores; it may depend on distances."""
        bias = None if self.rel_pos_bias is None else self.rel_pos_bias(positions)
        if self.disentangled is not None and q is not None and k is not None:
            bias = self.disentangled(positions, q, k) / self.attn_scale
        mask_of, is_causal = partial(positions.mask_of, self.window), positions.is_causal(self.window)
        return ScoreRule(mask_of, self.attn_scale, bias, self.soft_cap, self.sinks, is_causal)

    def _attend(
        self,
        q: Float[Tensor, "batch query head d_head"],
        k: Float[Tensor, "batch key kv_head d_head"],
        v: Float[Tensor, "batch key kv_head d_value"],
        rule: ScoreRule,
        tap: Tap,
    ) -> Float[Tensor, "_ query head d_value"]:
        """Every head's mixture of values, weighted by its pattern."""
        Attended(q, k, rule).leave(tap)
        drops = self.training and self.dropout.p
        if (
            not drops
            and rule.is_plain
            and (z := attention_kernel.attend(q, k, v, lambda: rule.mask, rule.attn_scale, tap, rule.is_causal))
            is not None
        ):
            return z
        scores = tap("hook_attn_scores", rule.scores(q, k))
        pattern = rule.pattern(scores)
        del scores  # as large as the pattern, and not needed while the tap looks at that
        return mix(self.dropout(tap("hook_pattern", pattern)), v)


class GroupedQueryAttention(Attention):
    """Attention in which each group of heads shares its keys and values, which are stored once a group.

    `W_K`, `W_V`, `b_K` and `b_V` read as if every head had its own; that makes a copy.

    Source: Ainslie et al. 2023, "GQA"; TransformerLens for the names `_W_K` and so on.
    """

    _W_K: Float[Tensor, "kv_head d_model d_head"]
    _W_V: Float[Tensor, "kv_head d_model d_value"]
    _b_K: Float[Tensor, "kv_head d_head"]
    _b_V: Float[Tensor, "kv_head d_value"]

    def _store(self, name: str, parameter: nn.Parameter) -> None:
        self.register_parameter(f"_{name}", parameter)

    @property
    def n_in_group(self) -> int:
        """Number of heads that share keys and values."""
        return len(self.W_Q) // len(self._W_K)

    def keys_and_values(self) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        return (self._W_K, self._W_V), (self._b_K, self._b_V)

    @property
    def W_K(self) -> Float[Tensor, "head d_model d_head"]:  # type: ignore[override]
        """Each head's key weights, those of its group."""
        return self._W_K.repeat_interleave(self.n_in_group, 0)

    @property
    def W_V(self) -> Float[Tensor, "head d_model d_value"]:  # type: ignore[override]
        """Each head's value weights, those of its group."""
        return self._W_V.repeat_interleave(self.n_in_group, 0)

    @property
    def b_K(self) -> Float[Tensor, "head d_head"]:  # type: ignore[override]
        """Each head's key bias, that of its group."""
        return self._b_K.repeat_interleave(self.n_in_group, 0)

    @property
    def b_V(self) -> Float[Tensor, "head d_value"]:  # type: ignore[override]
        """Each head's value bias, that of its group."""
        return self._b_V.repeat_interleave(self.n_in_group, 0)


def build_attention(cfg: TransformerConfig, layer: int) -> Attention:
    """The attention of a layer, with keys and values for every head or for groups of them."""
    return (GroupedQueryAttention if cfg.is_grouped else Attention)(cfg, layer)


class Attended:
    """Inputs of a layer's scores and pattern, which are computed in the pass's own steps when read after it.

    Scores that were read are kept for the pattern: both together take one product and no more memory than they are.
    """

    def __init__(
        self,
        q: Float[Tensor, "batch query head d_head"],
        k: Float[Tensor, "batch key kv_head d_head"],
        rule: ScoreRule,
    ) -> None:
        self._q, self._k, self._rule = q, k, rule
        self._scores: Tensor | None = None

    def leave(self, tap: Tap) -> None:
        """Give the tap functions that compute the activations it needs later."""
        for name, compute in (("hook_attn_scores", self.scores), ("hook_pattern", self.pattern)):
            if tap.look(name) is Look.LATER:
                tap.later(name, compute)

    def scores(self) -> Float[Tensor, "batch head query key"]:
        self._scores = self._made()
        return self._scores

    def pattern(self) -> Float[Tensor, "batch head query key"]:
        with torch.inference_mode():
            if self._scores is not None:
                return self._rule.pattern(self._scores)
            scores = self._made()
            return self._rule.pattern(scores, out=scores)

    def _made(self) -> Float[Tensor, "batch head query key"]:
        q, k, rule = self._q, self._k, self._rule
        with torch.inference_mode():
            fast = attention_kernel.attention_scores(q, k, rule.mask, rule.attn_scale) if rule.is_plain else None
            return rule.scores(q, k) if fast is None else fast


def attention_scale(cfg: TransformerConfig, layer: int) -> float:
    """The divisor of a layer's scores (Source: GPT2Attention in transformers for the layer's share)."""
    assert cfg.attn_scale is not None  # filled in by the config
    return cfg.attn_scale * (layer + 1 if cfg.scale_attn_by_inverse_layer_idx else 1)
