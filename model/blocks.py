"""The blocks that a transformer is stacked from: what is normalised when, and what is added to the stream."""

from collections.abc import Callable

from jaxtyping import Bool, Float
from torch import Tensor, nn

from headlight.model.config import TransformerConfig
from headlight.model.hooks import Tap
from headlight.model.layers import MLP, Attention, Dropout, build_norm

Stream = Float[Tensor, "batch pos d_model"]
Mask = Bool[Tensor, "#batch 1 query key"]
MemoryMask = Bool[Tensor, "#batch 1 query source"]


class AttnOnlyBlock(nn.Module):
    """Attention on the normalised stream, added to the stream."""

    def __init__(self, cfg: TransformerConfig, layer: int) -> None:
        super().__init__()
        self.ln1, self.attn = build_norm(cfg), Attention(cfg, layer)
        self.dropout = Dropout(cfg.dropout)

    def forward(self, resid_pre: Stream, mask: Mask, tap: Tap) -> Stream:
        resid_pre = tap("hook_resid_pre", resid_pre)
        attn_out = self.dropout(self.attn(self.ln1(resid_pre, tap.within("ln1")), mask, tap.within("attn")))
        return tap("hook_resid_post", resid_pre + tap("hook_attn_out", attn_out))


class Block(nn.Module):
    """Attention, then an MLP, each on the normalised stream and added to the stream."""

    def __init__(self, cfg: TransformerConfig, layer: int) -> None:
        super().__init__()
        self.ln1, self.attn = build_norm(cfg), Attention(cfg, layer)
        self.ln2, self.mlp = build_norm(cfg), MLP(cfg)
        self.dropout = Dropout(cfg.dropout)

    def forward(self, resid_pre: Stream, mask: Mask, tap: Tap) -> Stream:
        resid_pre = tap("hook_resid_pre", resid_pre)
        attn_out = self.dropout(self.attn(self.ln1(resid_pre, tap.within("ln1")), mask, tap.within("attn")))
        resid_mid = tap("hook_resid_mid", resid_pre + tap("hook_attn_out", attn_out))
        mlp_out = self.dropout(self.mlp(self.ln2(resid_mid, tap.within("ln2")), tap.within("mlp")))
        return tap("hook_resid_post", resid_mid + tap("hook_mlp_out", mlp_out))


class CrossBlock(nn.Module):
    """Self-attention, attention to the encoder's output, an MLP, each on the normalised stream and added to it.

    Source: TransformerLens's T5Block for the names `hook_cross_attn_out` and `hook_resid_mid_cross`.
    """

    def __init__(self, cfg: TransformerConfig, layer: int) -> None:
        super().__init__()
        self.ln1, self.attn = build_norm(cfg), Attention(cfg, layer)
        self.ln2, self.cross_attn = build_norm(cfg), Attention(cfg, layer)
        self.ln3, self.mlp = build_norm(cfg), MLP(cfg)
        self.dropout = Dropout(cfg.dropout)

    def forward(
        self,
        resid_pre: Stream,
        mask: Mask,
        memory: Float[Tensor, "batch memory d_model"],
        memory_mask: MemoryMask,
        tap: Tap,
    ) -> Stream:
        resid_pre = tap("hook_resid_pre", resid_pre)
        attn_out = self.dropout(self.attn(self.ln1(resid_pre, tap.within("ln1")), mask, tap.within("attn")))
        resid_mid = tap("hook_resid_mid", resid_pre + tap("hook_attn_out", attn_out))
        normalized = self.ln2(resid_mid, tap.within("ln2"))
        cross_attn_out = self.dropout(self.cross_attn(normalized, memory_mask, tap.within("cross_attn"), memory))
        resid_mid_cross = tap("hook_resid_mid_cross", resid_mid + tap("hook_cross_attn_out", cross_attn_out))
        mlp_out = self.dropout(self.mlp(self.ln3(resid_mid_cross, tap.within("ln3")), tap.within("mlp")))
        return tap("hook_resid_post", resid_mid_cross + tap("hook_mlp_out", mlp_out))


class PostNormBlock(Block):
    """A block of the original paper: the stream is normalised after each addition.

    `hook_resid_mid` and `hook_resid_post` are taken before their LayerNorm, whose output is `hook_normalized` times
    gain plus bias; `hook_resid_pre` of the next block is the normalised stream.

    Source: Vaswani et al. 2017, section 3.1.
    """

    def forward(self, resid_pre: Stream, mask: Mask, tap: Tap) -> Stream:
        resid_pre = tap("hook_resid_pre", resid_pre)
        attn_out = self.dropout(self.attn(resid_pre, mask, tap.within("attn")))
        resid_mid = tap("hook_resid_mid", resid_pre + tap("hook_attn_out", attn_out))
        normalized = self.ln1(resid_mid, tap.within("ln1"))
        mlp_out = self.dropout(self.mlp(normalized, tap.within("mlp")))
        resid_post = tap("hook_resid_post", normalized + tap("hook_mlp_out", mlp_out))
        return self.ln2(resid_post, tap.within("ln2"))


class PostNormCrossBlock(CrossBlock):
    """A decoder block of the original paper: the stream is normalised after each of the three additions.

    Source: Vaswani et al. 2017, section 3.1.
    """

    def forward(
        self,
        resid_pre: Stream,
        mask: Mask,
        memory: Float[Tensor, "batch memory d_model"],
        memory_mask: MemoryMask,
        tap: Tap,
    ) -> Stream:
        resid_pre = tap("hook_resid_pre", resid_pre)
        attn_out = self.dropout(self.attn(resid_pre, mask, tap.within("attn")))
        resid_mid = tap("hook_resid_mid", resid_pre + tap("hook_attn_out", attn_out))
        normalized = self.ln1(resid_mid, tap.within("ln1"))
        cross_attn_out = self.dropout(self.cross_attn(normalized, memory_mask, tap.within("cross_attn"), memory))
        resid_mid_cross = tap("hook_resid_mid_cross", normalized + tap("hook_cross_attn_out", cross_attn_out))
        normalized = self.ln2(resid_mid_cross, tap.within("ln2"))
        mlp_out = self.dropout(self.mlp(normalized, tap.within("mlp")))
        resid_post = tap("hook_resid_post", normalized + tap("hook_mlp_out", mlp_out))
        return self.ln3(resid_post, tap.within("ln3"))


def build_blocks(kind: Callable[[TransformerConfig, int], nn.Module], cfg: TransformerConfig) -> nn.ModuleList:
    """One block of a kind for each layer."""
    return nn.ModuleList(kind(cfg, layer) for layer in range(cfg.n_layers))
