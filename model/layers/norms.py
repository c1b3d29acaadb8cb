"""LayerNorm, with gain and bias and without, and what stands where there is none."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headlight.model.config import TransformerConfig
from headlight.model.hooks import Look, Tap
from headlight.model.layers.parameters import zeros


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
        self.b = zeros(cfg.d_model)

    def forward(self, x: Float[Tensor, "batch pos d_model"], tap: Tap) -> Float[Tensor, "batch pos d_model"]:
        unseen = tap.look("hook_scale") is tap.look("hook_normalized") is Look.NEVER
        if unseen and x.shape[1] == 1 and torch.is_inference_mode_enabled():  # a token takes 1.07 of its time without
            return torch.layer_norm(x, self.w.shape, self.w, self.b, self.eps)  # equal up to rounding, in one step
        return super().forward(x, tap) * self.w + self.b


def build_norm(cfg: TransformerConfig) -> nn.Module:
    """The normalisation layer that the config asks for."""
    if cfg.normalization_type is None:
        return NoNorm()
    return LayerNorm(cfg) if cfg.normalization_type == "LN" else LayerNormPre(cfg)
