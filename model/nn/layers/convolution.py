"""Convolution over neighbouring tokens."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.layers.mlp import ACTIVATIONS
from headlight.model.nn.layers.parameters import normal, widened, zeros


class Convolution(nn.Module):
    """A convolution over `conv_kernel_size` tokens and an activation function; beyond the ends of a text are zeros."""

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        assert cfg.conv_kernel_size is not None  # else there would be none
        self.groups = cfg.conv_groups
        self.W = normal(cfg.d_model, cfg.d_model // cfg.conv_groups, cfg.conv_kernel_size)
        self.b = zeros(cfg.d_model)
        self.act_fn = ACTIVATIONS[cfg.conv_act_fn]

    def forward(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_model"]:
        W = widened(self.W)
        return self.act_fn(torch.conv1d(x.mT, W, self.b.to(W), padding=W.shape[-1] // 2, groups=self.groups).mT)
