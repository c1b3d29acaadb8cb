"""LayerNorm and RMSNorm, with gain and bias and without, and the identity."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import Look, Tap
from headlight.model.nn.layers.parameters import zeros

Vectors = Float[Tensor, "batch pos *head width"]


class NoNorm(nn.Module):
    """Stands where a model without normalisation has none."""

    def forward(self, x: Vectors, tap: Tap) -> Vectors:
        return x


class RMSNormPre(nn.Module):
    """RMSNorm without gain: divide each vector by the root of its mean square."""

    def __init__(self, eps: float) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, x: Vectors, tap: Tap) -> Vectors:
        scale = tap("hook_scale", (x.square().mean(-1, keepdim=True) + self.eps).sqrt())
        return tap("hook_normalized", x / scale)


class RMSNorm(RMSNormPre):
    """RMSNorm; `hook_normalized` is taken before the gain.

    Source: Zhang and Sennrich 2019, "Root Mean Square Layer Normalization".
    """

    def __init__(self, width: int, eps: float) -> None:
        super().__init__(eps)
        self.w = nn.Parameter(torch.ones(width))

    def forward(self, x: Vectors, tap: Tap) -> Vectors:
        unseen = tap.look("hook_scale") is tap.look("hook_normalized") is Look.NEVER
        if unseen and torch.is_inference_mode_enabled():
            return torch.rms_norm(x, self.w.shape, self.w, self.eps)  # equal up to rounding, in one step
        return super().forward(x, tap) * self.w


class RMSNormAcrossHeads(RMSNorm):
    """RMSNorm of all heads' vectors as one: `hook_scale` is [batch, pos, 1], `hook_normalized` all heads side by side.

    Source: transformers' Olmo2Attention.
    """

    def forward(self, x: Float[Tensor, "batch pos head d_head"], tap: Tap) -> Float[Tensor, "batch pos head d_head"]:
        return super().forward(x.flatten(2), tap).unflatten(2, x.shape[2:])


class LayerNormPre(RMSNormPre):
    """LayerNorm without gain and bias: centre each vector and divide it by its standard deviation."""

    def forward(self, x: Vectors, tap: Tap) -> Vectors:
        return super().forward(x - x.mean(-1, keepdim=True), tap)


class LayerNorm(LayerNormPre):
    """LayerNorm; `hook_normalized` is taken before gain and bias.

    Source: Ba et al. 2016, "Layer Normalization".
    """

    def __init__(self, width: int, eps: float) -> None:
        super().__init__(eps)
        self.w = nn.Parameter(torch.ones(width))
        self.b = zeros(width)

    def forward(self, x: Vectors, tap: Tap) -> Vectors:
        unseen = tap.look("hook_scale") is tap.look("hook_normalized") is Look.NEVER
        if unseen and x.shape[1] == 1 and torch.is_inference_mode_enabled():  # a token takes 1.07 of its time without
            return torch.layer_norm(x, self.w.shape, self.w, self.b, self.eps)  # equal up to rounding, in one step
        return super().forward(x, tap) * self.w + self.b


class HeadwiseLayerNorm(LayerNormPre):
    """LayerNorm of each head's query or key, with a gain and a bias of the head's own."""

    def __init__(self, n_heads: int, width: int, eps: float) -> None:
        super().__init__(eps)
        self.w = nn.Parameter(torch.ones(n_heads, width))
        self.b = zeros(n_heads, width)

    def forward(self, x: Vectors, tap: Tap) -> Vectors:
        return super().forward(x, tap) * self.w + self.b


def build_norm(cfg: TransformerConfig, width: int | None = None) -> nn.Module:
    """The normalisation layer that the config asks for, of the stream or of vectors of another width."""
    width = cfg.d_model if width is None else width
    match cfg.normalization_type:
        case "LN":
            return LayerNorm(width, cfg.eps)
        case "LNPre":
            return LayerNormPre(cfg.eps)
        case "RMS":
            return RMSNorm(width, cfg.eps)
        case "RMSPre":
            return RMSNormPre(cfg.eps)
    return NoNorm()


def build_head_norm(cfg: TransformerConfig, n_heads: int) -> nn.Module:
    """Build the normalisation of queries or keys for this many heads, where the config asks for one."""
    if cfg.use_qk_norm and cfg.qk_norm_per_head:
        return HeadwiseLayerNorm(n_heads, cfg.d_head, cfg.eps)
    if cfg.use_qk_norm and cfg.qk_norm_across_heads:
        return RMSNormAcrossHeads(n_heads * cfg.d_head, cfg.eps)
    return build_norm(cfg, cfg.d_head) if cfg.use_qk_norm else NoNorm()
