"""The parts of a transformer, each an einsum a step, with a tap at every activation.

Parameters are per head: W_Q, W_K, W_V [head, d_model, d_head], W_O [head, d_head, d_model]. Their memory is laid out
so that the einsum over all heads is one plain matrix product without a copy.
"""

from collections.abc import Callable

import torch
from einops import einsum
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from model.config import TransformerConfig
from model.hooks import Tap

INIT_STD = 0.02  # GPT-2's initializer_range

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_new": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
}


def _normal(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.empty(shape).normal_(std=INIT_STD))


def _zeros(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.zeros(shape))


def _per_head(n_heads: int, d_model: int, d_head: int) -> nn.Parameter:
    """[head, d_model, d_head] as a view of [d_model, head, d_head]: all heads' columns side by side."""
    return nn.Parameter(torch.empty(d_model, n_heads, d_head).normal_(std=INIT_STD).transpose(0, 1))


class Embed(nn.Module):
    """Token ids to their rows of W_E."""

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        self.W_E = _normal(cfg.d_vocab, cfg.d_model)

    def forward(self, tokens: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_model"]:
        return self.W_E[tokens]


class PosEmbed(nn.Module):
    """Position indices to their rows of W_pos (learned, absolute)."""

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        self.W_pos = _normal(cfg.n_ctx, cfg.d_model)

    def forward(self, positions: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_model"]:
        return self.W_pos[positions]


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
        return super().forward(x, tap) * self.w + self.b


class Attention(nn.Module):
    """Multi-head self-attention, row = query and column = key."""

    def __init__(self, cfg: TransformerConfig, layer: int) -> None:
        super().__init__()
        sizes = (cfg.n_heads, cfg.d_model, cfg.d_head)
        self.W_Q, self.W_K, self.W_V = _per_head(*sizes), _per_head(*sizes), _per_head(*sizes)
        self.W_O = _normal(cfg.n_heads, cfg.d_head, cfg.d_model)
        self.b_Q, self.b_K, self.b_V = (_zeros(cfg.n_heads, cfg.d_head) for _ in range(3))
        self.b_O = _zeros(cfg.d_model)
        self.attn_scale = attention_scale(cfg, layer)

    def forward(
        self,
        normalized_resid_pre: Float[Tensor, "batch pos d_model"],
        visible: Bool[Tensor, "#batch 1 query key"],
        tap: Tap,
    ) -> Float[Tensor, "batch pos d_model"]:
        """Every head's output, summed. A query that sees no key attends to nothing: its row is zero."""
        to_heads = "batch pos d_model, head d_model d_head -> batch pos head d_head"
        q = tap("hook_q", einsum(normalized_resid_pre, self.W_Q, to_heads) + self.b_Q)
        k = tap("hook_k", einsum(normalized_resid_pre, self.W_K, to_heads) + self.b_K)
        v = tap("hook_v", einsum(normalized_resid_pre, self.W_V, to_heads) + self.b_V)
        scores = tap("hook_attn_scores", attention_scores(q, k, visible, self.attn_scale))
        pattern = attention_pattern(scores, visible)
        del scores  # as large as the pattern, and not needed while the tap looks at that
        pattern = tap("hook_pattern", pattern)
        z = tap("hook_z", einsum(pattern, v, "batch head query key, batch key head d_head -> batch query head d_head"))
        if tap.wants("hook_result"):
            to_result = "batch query head d_head, head d_head d_model -> batch query head d_model"
            return tap("hook_result", einsum(z, self.W_O, to_result)).sum(2) + self.b_O
        return einsum(z, self.W_O, "batch query head d_head, head d_head d_model -> batch query d_model") + self.b_O


def attention_scale(cfg: TransformerConfig, layer: int) -> float:
    """What a layer's scores are divided by (Source: GPT2Attention in transformers for the layer's share)."""
    assert cfg.attn_scale is not None  # filled in by the config
    return cfg.attn_scale * (layer + 1 if cfg.scale_attn_by_inverse_layer_idx else 1)


def attention_scores(
    q: Float[Tensor, "batch query head d_head"],
    k: Float[Tensor, "batch key head d_head"],
    visible: Bool[Tensor, "#batch 1 query key"],
    attn_scale: float,
) -> Float[Tensor, "batch head query key"]:
    """Scaled dot products of queries and keys, -inf where the key is not visible to the query."""
    scores = einsum(q / attn_scale, k, "batch query head d_head, batch key head d_head -> batch head query key")
    return scores.masked_fill_(~visible, -torch.inf)  # in place: a copy would be as large as all patterns of the layer


def attention_pattern(
    scores: Float[Tensor, "batch head query key"], visible: Bool[Tensor, "#batch 1 query key"]
) -> Float[Tensor, "batch head query key"]:
    """Softmax over keys; zeros for a query that sees no key, where softmax alone would give NaN."""
    pattern = scores.softmax(-1)
    blind = ~visible.any(-1, keepdim=True)
    return pattern.masked_fill(blind, 0.0) if blind.any() else pattern


def visible_keys(
    attention_dir: str, attention_mask: Bool[Tensor, "batch pos"] | None, n_pos: int, device: torch.device
) -> Bool[Tensor, "#batch 1 query key"]:
    """Which keys each query may attend to: none after itself if causal, and never a padding token."""
    visible = torch.ones(1, 1, n_pos, n_pos, dtype=torch.bool, device=device)
    if attention_dir == "causal":
        visible = visible.tril()
    return visible if attention_mask is None else visible & attention_mask[:, None, None, :]


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
        pre = einsum(normalized_resid_mid, self.W_in, "batch pos d_model, d_model d_mlp -> batch pos d_mlp") + self.b_in
        post = tap("hook_post", self.act_fn(tap("hook_pre", pre)))
        return einsum(post, self.W_out, "batch pos d_mlp, d_mlp d_model -> batch pos d_model") + self.b_out


class Unembed(nn.Module):
    """Normalised residual stream to logits by a matrix of its own."""

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        assert cfg.d_vocab_out is not None  # filled in by the config
        self.W_U, self.b_U = _normal(cfg.d_model, cfg.d_vocab_out), _zeros(cfg.d_vocab_out)

    def forward(self, normalized: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_vocab_out"]:
        to_logits = "batch pos d_model, d_model d_vocab_out -> batch pos d_vocab_out"
        return einsum(normalized, self.W_U, to_logits) + self.b_U


class TiedUnembed(nn.Module):
    """Normalised residual stream to logits by the token embedding, transposed; no parameters of its own."""

    def __init__(self, embed: Embed) -> None:
        super().__init__()
        self._embed = [embed]  # in a list, so that its parameters are not registered a second time

    @property
    def W_U(self) -> Float[Tensor, "d_model d_vocab"]:
        """The token embedding, transposed (a view)."""
        return self._embed[0].W_E.T

    @property
    def b_U(self) -> Float[Tensor, " d_vocab"]:
        """Zeros: a tied unembedding has no bias."""
        return self.W_U.new_zeros(self.W_U.shape[1])

    def forward(self, normalized: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_vocab"]:
        return einsum(normalized, self.W_U, "batch pos d_model, d_model d_vocab -> batch pos d_vocab")


def build_norm(cfg: TransformerConfig) -> nn.Module:
    """The normalisation layer that the config asks for."""
    if cfg.normalization_type is None:
        return NoNorm()
    return LayerNorm(cfg) if cfg.normalization_type == "LN" else LayerNormPre(cfg)


class AttnOnlyBlock(nn.Module):
    """Attention on the normalised stream, added to the stream."""

    def __init__(self, cfg: TransformerConfig, layer: int) -> None:
        super().__init__()
        self.ln1, self.attn = build_norm(cfg), Attention(cfg, layer)

    def forward(
        self,
        resid_pre: Float[Tensor, "batch pos d_model"],
        visible: Bool[Tensor, "#batch 1 query key"],
        tap: Tap,
    ) -> Float[Tensor, "batch pos d_model"]:
        resid_pre = tap("hook_resid_pre", resid_pre)
        attn_out = self.attn(self.ln1(resid_pre, tap.within("ln1")), visible, tap.within("attn"))
        return tap("hook_resid_post", resid_pre + tap("hook_attn_out", attn_out))


class Block(nn.Module):
    """Attention, then an MLP, each on the normalised stream and added to the stream."""

    def __init__(self, cfg: TransformerConfig, layer: int) -> None:
        super().__init__()
        self.ln1, self.attn = build_norm(cfg), Attention(cfg, layer)
        self.ln2, self.mlp = build_norm(cfg), MLP(cfg)

    def forward(
        self,
        resid_pre: Float[Tensor, "batch pos d_model"],
        visible: Bool[Tensor, "#batch 1 query key"],
        tap: Tap,
    ) -> Float[Tensor, "batch pos d_model"]:
        resid_pre = tap("hook_resid_pre", resid_pre)
        attn_out = self.attn(self.ln1(resid_pre, tap.within("ln1")), visible, tap.within("attn"))
        resid_mid = tap("hook_resid_mid", resid_pre + tap("hook_attn_out", attn_out))
        mlp_out = self.mlp(self.ln2(resid_mid, tap.within("ln2")), tap.within("mlp"))
        return tap("hook_resid_post", resid_mid + tap("hook_mlp_out", mlp_out))


def build_block(cfg: TransformerConfig, layer: int) -> nn.Module:
    """The block that the config asks for."""
    return AttnOnlyBlock(cfg, layer) if cfg.attn_only else Block(cfg, layer)
