"""Transformer blocks: the order of norms, attention, MLP and additions to the stream."""

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import NO_TAP, Tap
from headlight.model.nn.layers.attention import build_attention
from headlight.model.nn.layers.biases import SharedBias
from headlight.model.nn.layers.convolution import Convolution
from headlight.model.nn.layers.dropout import Dropout
from headlight.model.nn.layers.mlp import build_mlp
from headlight.model.nn.layers.norms import NoNorm, build_norm
from headlight.model.nn.layers.positions import Positions

Stream = Float[Tensor, "batch pos d_model"]
Written = Float[Tensor, "_ pos d_model"]  # an edit on the way may make a larger batch of one


class AttnOnlyBlock(nn.Module):
    """Attention on the normalised stream, added to the stream."""

    def __init__(self, cfg: TransformerConfig, layer: int) -> None:
        super().__init__()
        normalizes = cfg.normalize_before and layer not in cfg.no_ln1_layers
        self.ln1 = build_norm(cfg) if normalizes else NoNorm()
        self.attn = build_attention(cfg, layer)
        self.ln1_post = build_norm(cfg) if cfg.use_normalization_before_and_after else NoNorm()
        self.dropout, self.residual_scale = Dropout(cfg.dropout), cfg.residual_scale

    def forward(self, resid_pre: Stream, positions: Positions, tap: Tap) -> Written:
        resid_pre = tap("hook_resid_pre", resid_pre)
        attn_out = self.attn_out(self.ln1(resid_pre, tap.within("ln1")), positions, tap)
        return tap("hook_resid_post", resid_pre + attn_out)

    def attn_in(self, resid_pre: Stream) -> Stream:
        """The attention's input: the stream after its norm."""
        return self.ln1(resid_pre, NO_TAP)

    def attn_out(self, normalized: Stream, positions: Positions, tap: Tap) -> Written:
        """The attention's write to the stream."""
        output = self.attn(normalized, positions, tap.within("attn"))
        return tap("hook_attn_out", self._written(self.ln1_post(output, tap.within("ln1_post"))))

    def norm_after(self, part: str) -> nn.Module:
        """The norm of the stream itself once a part, by its hook name, was added to it."""
        return NoNorm()

    def after(self, part: str, resid: Stream) -> Stream:
        """The stream after a part was added to it."""
        normalized: Stream = self.norm_after(part)(resid, NO_TAP)
        return normalized

    def end(self, resid_pre: Stream, resid: Stream) -> Stream:
        """The stream after the layer, of that before it and that behind its MLP."""
        return resid

    def _written(self, output: Stream) -> Stream:
        return self.dropout(output if self.residual_scale == 1.0 else output * self.residual_scale)


class Block(AttnOnlyBlock):
    """Attention, then an MLP, each on the normalised stream and added to the stream."""

    def __init__(self, cfg: TransformerConfig, layer: int) -> None:
        super().__init__(cfg, layer)
        self.ln2 = build_norm(cfg) if cfg.normalize_before else NoNorm()
        self._build_between(cfg, layer)
        self.mlp = build_mlp(cfg, layer)
        self.ln2_post = build_norm(cfg) if cfg.use_normalization_before_and_after else NoNorm()

    def forward(self, resid_pre: Stream, positions: Positions, tap: Tap) -> Written:
        resid_pre = tap("hook_resid_pre", resid_pre)
        attn_out = self.attn_out(self.ln1(resid_pre, tap.within("ln1")), positions, tap)
        resid_mid = tap("hook_resid_mid", resid_pre + attn_out)
        return tap("hook_resid_post", resid_mid + self.mlp_out(self.ln2(resid_mid, tap.within("ln2")), tap))

    def _build_between(self, cfg: TransformerConfig, layer: int) -> None:
        """Modules between attention and the MLP; built there to keep the order of random draws under a seed."""

    @property
    def mlp_norm(self) -> nn.Module:
        """Norm between the stream and the MLP."""
        return self.ln2

    def mlp_in(self, resid_pre: Stream, resid_mid: Stream) -> Stream:
        """Input of the MLP, of the streams before attention and after it."""
        return self.mlp_norm(resid_mid, NO_TAP)

    def mlp_out(self, normalized: Stream, tap: Tap) -> Written:
        """The MLP's write to the stream."""
        output = self.mlp(normalized, tap.within("mlp"))
        return tap("hook_mlp_out", self._written(self.ln2_post(output, tap.within("ln2_post"))))


class ParallelBlock(Block):
    """Attention and an MLP side by side, both of the same stream, by one norm or a norm each.

    There is no stream between them, hence no `hook_resid_mid`.
    """

    def __init__(self, cfg: TransformerConfig, layer: int) -> None:
        super().__init__(cfg, layer)
        self.shares_norm = cfg.parallel_norms == 1
        if self.shares_norm:
            self.ln2 = NoNorm()

    def forward(self, resid_pre: Stream, positions: Positions, tap: Tap) -> Written:
        resid_pre = tap("hook_resid_pre", resid_pre)
        normalized = self.ln1(resid_pre, tap.within("ln1"))
        attn_out = self.attn_out(normalized, positions, tap)
        mlp_in = normalized if self.shares_norm else self.ln2(resid_pre, tap.within("ln2"))
        return tap("hook_resid_post", resid_pre + attn_out + self.mlp_out(mlp_in, tap))

    @property
    def mlp_norm(self) -> nn.Module:
        """Norm between the stream and the MLP: attention's own, or one beside it."""
        return self.ln1 if self.shares_norm else self.ln2

    def mlp_in(self, resid_pre: Stream, resid_mid: Stream) -> Stream:
        """Input of the MLP: the stream before attention, which attention reads too."""
        return self.mlp_norm(resid_pre, NO_TAP)


class PostNormBlock(Block):
    """A block of the original paper: the stream is normalised after each addition.

    `hook_resid_mid` and `hook_resid_post` are taken before their LayerNorm, whose output is `hook_normalized` times
    gain plus bias; `hook_resid_pre` of the next block is the normalised stream.

    Source: Vaswani et al. 2017, section 3.1.
    """

    def forward(self, resid_pre: Stream, positions: Positions, tap: Tap) -> Written:
        resid_pre = tap("hook_resid_pre", resid_pre)
        resid_mid = tap("hook_resid_mid", resid_pre + self.attn_out(resid_pre, positions, tap))
        normalized = self.ln1(resid_mid, tap.within("ln1"))
        resid_post = tap("hook_resid_post", normalized + self.mlp_out(normalized, tap))
        return self._ended(resid_pre, self.ln2(resid_post, tap.within("ln2")), positions, tap)

    def _ended(self, resid_pre: Stream, resid: Written, positions: Positions, tap: Tap) -> Written:
        """The stream after the layer, of that before it and that behind its MLP."""
        return resid

    def attn_in(self, resid_pre: Stream) -> Stream:
        """Input of attention: the stream itself."""
        return resid_pre

    def mlp_in(self, resid_pre: Stream, resid_mid: Stream) -> Stream:
        """Input of the MLP: the stream after attention, which is already normalised."""
        return resid_mid

    def norm_after(self, part: str) -> nn.Module:
        """The norm behind attention, or behind the MLP."""
        return self.ln1 if part == "attn_out" else self.ln2


class ConvBlock(PostNormBlock):
    """A block that ends in a convolution over neighbouring tokens of its input, added to the stream and normalised.

    Source: transformers' ConvLayer of DeBERTa-v2, which stands behind the first layer.
    """

    def __init__(self, cfg: TransformerConfig, layer: int) -> None:
        super().__init__(cfg, layer)
        self.conv, self.ln_conv = Convolution(cfg), build_norm(cfg)

    def _ended(self, resid_pre: Stream, resid: Written, positions: Positions, tap: Tap) -> Written:
        real = positions.mask[:, 0, 0, :, None]  # padding is no token's neighbour
        conv_out = tap("hook_conv_out", self.conv(resid_pre * real))
        n_joined = len(resid) - len(conv_out)  # rows that an edit let join the first behind what is read here
        conv_out = torch.cat([conv_out, conv_out[:1].expand(n_joined, -1, -1)]) if n_joined else conv_out
        return self.ln_conv(resid + conv_out, tap.within("ln_conv"))

    def end(self, resid_pre: Stream, resid: Stream) -> Stream:
        """The stream to which what the convolution gives of the layer's input is added."""
        return self.after("conv_out", resid + self.conv(resid_pre))

    def norm_after(self, part: str) -> nn.Module:
        """The norm behind attention, the MLP, or the convolution."""
        return self.ln_conv if part == "conv_out" else super().norm_after(part)


class CrossBlock(Block):
    """Self-attention, attention to the encoder's output, an MLP, each on the normalised stream and added to it.

    Source: TransformerLens's T5Block for the names `hook_cross_attn_out` and `hook_resid_mid_cross`.
    """

    def _build_between(self, cfg: TransformerConfig, layer: int) -> None:
        without_positions = replace(cfg, positional_embedding_type="none")
        self.cross_attn, self.ln3 = build_attention(without_positions, layer), build_norm(cfg)

    def forward(  # type: ignore[override]
        self,
        resid_pre: Stream,
        positions: Positions,
        memory: Float[Tensor, "batch memory d_model"],
        to_memory: Positions,
        tap: Tap,
    ) -> Written:
        resid_pre = tap("hook_resid_pre", resid_pre)
        attn_out = self.attn_out(self.ln1(resid_pre, tap.within("ln1")), positions, tap)
        resid_mid = tap("hook_resid_mid", resid_pre + attn_out)
        cross_attn_out = self.cross_attn_out(self.ln2(resid_mid, tap.within("ln2")), memory, to_memory, tap)
        resid_mid_cross = tap("hook_resid_mid_cross", resid_mid + cross_attn_out)
        mlp_out = self.mlp_out(self.ln3(resid_mid_cross, tap.within("ln3")), tap)
        return tap("hook_resid_post", resid_mid_cross + mlp_out)

    def cross_attn_out(
        self, normalized: Stream, memory: Float[Tensor, "batch memory d_model"], to_memory: Positions, tap: Tap
    ) -> Written:
        """Write of cross-attention to the stream."""
        output = self.cross_attn(normalized, to_memory, tap.within("cross_attn"), memory)
        return tap("hook_cross_attn_out", self._written(output))


class PostNormCrossBlock(CrossBlock):
    """A decoder block of the original paper: the stream is normalised after each of the three additions.

    Source: Vaswani et al. 2017, section 3.1.
    """

    def forward(  # type: ignore[override]
        self,
        resid_pre: Stream,
        positions: Positions,
        memory: Float[Tensor, "batch memory d_model"],
        to_memory: Positions,
        tap: Tap,
    ) -> Written:
        resid_pre = tap("hook_resid_pre", resid_pre)
        resid_mid = tap("hook_resid_mid", resid_pre + self.attn_out(resid_pre, positions, tap))
        normalized = self.ln1(resid_mid, tap.within("ln1"))
        cross_attn_out = self.cross_attn_out(normalized, memory, to_memory, tap)
        resid_mid_cross = tap("hook_resid_mid_cross", normalized + cross_attn_out)
        normalized = self.ln2(resid_mid_cross, tap.within("ln2"))
        resid_post = tap("hook_resid_post", normalized + self.mlp_out(normalized, tap))
        return self.ln3(resid_post, tap.within("ln3"))


def block_kind(cfg: TransformerConfig) -> Callable[[TransformerConfig, int], nn.Module]:
    """The kind of block that a decoder-only or encoder-only model's config asks for."""
    if cfg.attn_only:
        return AttnOnlyBlock
    if cfg.parallel_attn_mlp:
        return ParallelBlock
    if cfg.conv_kernel_size:
        return lambda cfg, layer: (PostNormBlock if layer else ConvBlock)(cfg, layer)
    return PostNormBlock if cfg.post_norm else Block


def build_blocks(kind: Callable[[TransformerConfig, int], nn.Module], cfg: TransformerConfig) -> nn.ModuleList:
    """One block of a kind for each layer."""
    blocks = nn.ModuleList(kind(cfg, layer) for layer in range(cfg.n_layers))
    if cfg.has_relative_bias and not cfg.rel_pos_bias_per_layer:
        first, *others = (cast(AttnOnlyBlock, block).attn for block in blocks)
        for attn in others:
            attn.rel_pos_bias = SharedBias(cast(nn.Module, first.rel_pos_bias))
    return blocks
