"""The parts of a transformer, each an einsum a step, with a tap at every activation.

Parameters are per head: W_Q, W_K, W_V [head, d_model, d_head], W_O [head, d_head, d_model]. Their memory is laid out
so that the einsum over all heads is one plain matrix product without a copy; `product` is such an einsum.
"""

from collections.abc import Callable

import torch
from einops import einsum
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from headlight.model import kernels
from headlight.model.config import TransformerConfig
from headlight.model.hooks import NO_TAP, Look, Tap
from headlight.model.kernels import product, products

INIT_STD = 0.02  # GPT-2's initializer_range

Mask = Bool[Tensor, "#batch 1 query key"]  # true where the query sees the key
Logits = Float[Tensor, "_ pos d_vocab_out"]  # an edit may make a larger batch of one

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_new": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
}


def _drawn(*shape: int) -> Tensor:
    values = torch.empty(shape)
    # Where there is no memory to fill, as before a checkpoint is read, torch would import a second of modules for it.
    return values if values.is_meta else values.normal_(std=INIT_STD)


def _normal(*shape: int) -> nn.Parameter:
    return nn.Parameter(_drawn(*shape))


def _zeros(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.zeros(shape))


def _per_head(n_heads: int, d_model: int, d_head: int) -> nn.Parameter:
    """[head, d_model, d_head] as a view of [d_model, head, d_head]: all heads' columns side by side."""
    return nn.Parameter(_drawn(d_model, n_heads, d_head).transpose(0, 1))


class Embed(nn.Module):
    """Token ids to their rows of W_E."""

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        self.W_E = _normal(cfg.d_vocab, cfg.d_model)

    def forward(self, tokens: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_model"]:
        return self.W_E[tokens]


class TiedEmbed(nn.Module):
    """Token ids to their rows of another embedding's W_E; no parameters of its own."""

    def __init__(self, embed: Embed) -> None:
        super().__init__()
        self._embed = [embed]  # in a list, so that its parameters are not registered a second time

    @property
    def W_E(self) -> Float[Tensor, "d_vocab d_model"]:
        """The other's matrix itself."""
        return self._embed[0].W_E

    def forward(self, tokens: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_model"]:
        return self.W_E[tokens]


class PosEmbed(nn.Module):
    """Position indices to their rows of W_pos (learned, absolute)."""

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        self.W_pos = _normal(cfg.n_ctx, cfg.d_model)

    def forward(self, positions: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_model"]:
        return self.W_pos[positions]


class SinusoidalPosEmbed(nn.Module):
    """Position indices to sines (even components) and cosines (odd) of wavelengths from 2 pi to 10000 * 2 pi.

    Source: Vaswani et al. 2017, section 3.5.
    """

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        self.d_model = cfg.d_model

    def forward(self, positions: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_model"]:
        pairs = torch.arange(0, self.d_model, 2, device=positions.device)
        angles = positions[..., None] / 10000.0 ** (pairs.double() / self.d_model)
        waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
        return waves[..., : self.d_model].to(torch.get_default_dtype())


class Dropout(nn.Dropout):
    """torch's own, without the calls where it drops nothing: a written token would make them in every layer."""

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return super().forward(x) if self.training and self.p else x


class NoNorm(nn.Module):
    """Stands where a model without normalisation has none."""

    def forward(self, x: Float[Tensor, "batch pos d_model"], tap: Tap) -> Float[Tensor, "batch pos d_model"]:
        return x


class LayerNormPre(nn.Module):
    """LayerNorm without gain and bias: centre each row and divide it by its standard deviation."""

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        self.eps = cfg.eps

    def forward(self, x: Float[Tensor, "batch pos d_model"], tap: Tap) -> Float[Tensor, "batch pos d_model"]:
        centred = x - x.mean(-1, keepdim=True)
        scale = tap("hook_scale", (centred.square().mean(-1, keepdim=True) + self.eps).sqrt())
        return tap("hook_normalized", centred / scale)


class LayerNorm(LayerNormPre):
    """LayerNorm; `hook_normalized` is taken before gain and bias."""

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__(cfg)
        self.w = nn.Parameter(torch.ones(cfg.d_model))
        self.b = _zeros(cfg.d_model)

    def forward(self, x: Float[Tensor, "batch pos d_model"], tap: Tap) -> Float[Tensor, "batch pos d_model"]:
        unseen = tap.look("hook_scale") is tap.look("hook_normalized") is Look.NEVER
        if unseen and x.shape[1] == 1 and torch.is_inference_mode_enabled():  # a token takes 1.07 of its time without
            return torch.layer_norm(x, self.w.shape, self.w, self.b, self.eps)  # equal up to rounding, in one step
        return super().forward(x, tap) * self.w + self.b


class Attention(nn.Module):
    """Multi-head attention, row = query and column = key: of a sequence to itself, or to a memory beside it."""

    def __init__(self, cfg: TransformerConfig, layer: int) -> None:
        super().__init__()
        assert cfg.d_value is not None  # filled in by the config
        self.W_Q, self.W_K = (_per_head(cfg.n_heads, cfg.d_model, cfg.d_head) for _ in range(2))
        self.W_V = _per_head(cfg.n_heads, cfg.d_model, cfg.d_value)
        self.W_O = _normal(cfg.n_heads, cfg.d_value, cfg.d_model)
        self.b_Q, self.b_K = (_zeros(cfg.n_heads, cfg.d_head) for _ in range(2))
        self.b_V, self.b_O = _zeros(cfg.n_heads, cfg.d_value), _zeros(cfg.d_model)
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


def positions_of(
    tokens: Int[Tensor, "batch pos"], attention_mask: Bool[Tensor, "batch key"] | None, n_past: int = 0
) -> Int[Tensor, "batch pos"]:
    """Positions counted from each row's first real token, `n_past` of which, masked or not, were run already."""
    if attention_mask is None:
        return torch.arange(n_past, n_past + tokens.shape[1], device=tokens.device).expand_as(tokens)
    return (attention_mask.long().cumsum(-1) - 1).clamp(min=0)[:, n_past:]


class MLP(nn.Module):
    """Two linear layers with a non-linearity between them."""

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        assert cfg.d_mlp is not None  # filled in by the config
        self.W_in, self.b_in = _normal(cfg.d_model, cfg.d_mlp), _zeros(cfg.d_mlp)
        self.W_out, self.b_out = _normal(cfg.d_mlp, cfg.d_model), _zeros(cfg.d_model)
        self.act_fn = ACTIVATIONS[cfg.act_fn]

    def forward(
        self, normalized_resid_mid: Float[Tensor, "batch pos d_model"], tap: Tap
    ) -> Float[Tensor, "batch pos d_model"]:
        to_mlp = "batch pos d_model, d_model d_mlp -> batch pos d_mlp"
        pre = product(normalized_resid_mid, self.W_in, to_mlp, self.b_in)
        post = tap("hook_post", self.act_fn(tap("hook_pre", pre)))
        return product(post, self.W_out, "batch pos d_mlp, d_mlp d_model -> batch pos d_model", self.b_out)


class Unembed(nn.Module):
    """Normalised residual stream to logits by a matrix of its own."""

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        assert cfg.d_vocab_out is not None  # filled in by the config
        self.W_U, self.b_U = _normal(cfg.d_model, cfg.d_vocab_out), _zeros(cfg.d_vocab_out)

    def forward(self, normalized: Float[Tensor, "batch pos d_model"], tap: Tap = NO_TAP) -> Logits:
        return _logits(normalized, self.W_U, self.b_U, tap)


class _Transposed(nn.Module):
    def __init__(self, embed: Embed) -> None:
        super().__init__()
        self._embed = [embed]  # in a list, so that its parameters are not registered a second time

    @property
    def W_U(self) -> Float[Tensor, "d_model d_vocab"]:
        """The token embedding, transposed (a view)."""
        return self._embed[0].W_E.T


class TiedUnembed(_Transposed):
    """Normalised residual stream to logits by the token embedding, transposed; no parameters of its own."""

    @property
    def b_U(self) -> Float[Tensor, " d_vocab"]:
        """Zeros: a tied unembedding has no bias."""
        return self.W_U.new_zeros(self.W_U.shape[1])

    def forward(self, normalized: Float[Tensor, "batch pos d_model"], tap: Tap = NO_TAP) -> Logits:
        return _logits(normalized, self.W_U, None, tap)


class BiasedTiedUnembed(_Transposed):
    """Normalised residual stream to logits by the token embedding, transposed, and a bias."""

    def __init__(self, embed: Embed) -> None:
        super().__init__(embed)
        self.b_U = _zeros(embed.W_E.shape[0])

    def forward(self, normalized: Float[Tensor, "batch pos d_model"], tap: Tap = NO_TAP) -> Logits:
        return _logits(normalized, self.W_U, self.b_U, tap)


def _logits(
    normalized: Float[Tensor, "batch pos d_model"],
    W_U: Float[Tensor, "d_model d_vocab_out"],
    b_U: Float[Tensor, " d_vocab_out"] | None,
    tap: Tap,
) -> Logits:
    to_logits = "batch pos d_model, d_model d_vocab_out -> batch pos d_vocab_out"
    return tap("hook_out", product(tap("hook_in", normalized), W_U, to_logits, b_U))


def build_norm(cfg: TransformerConfig) -> nn.Module:
    """The normalisation layer that the config asks for."""
    if cfg.normalization_type is None:
        return NoNorm()
    return LayerNorm(cfg) if cfg.normalization_type == "LN" else LayerNormPre(cfg)
