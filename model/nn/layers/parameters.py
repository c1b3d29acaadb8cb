"""Initialization of parameters: as GPT-2's, or zero."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headlight.model.compute.quantised import plain

INIT_STD = 0.02  # GPT-2's initializer_range


def widened(tensor: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """A parameter as it is computed with: in float32 where it is kept in half precision or quantised, else as it is."""
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else plain(tensor)


def _drawn(*shape: int) -> Tensor:
    values = torch.empty(shape)
    # On the meta device, as before a checkpoint is read, torch would import modules for a second to fill nothing.
    return values if values.is_meta else values.normal_(std=INIT_STD)


def normal(*shape: int) -> nn.Parameter:
    """A parameter drawn from a normal distribution."""
    return nn.Parameter(_drawn(*shape))


def zeros(*shape: int) -> nn.Parameter:
    """A parameter of zeros."""
    return nn.Parameter(torch.zeros(shape))


def per_head(n_heads: int, d_model: int, d_head: int) -> nn.Parameter:
    """[head, d_model, d_head] as a view of [d_model, head, d_head]: all heads' columns side by side."""
    return nn.Parameter(_drawn(d_model, n_heads, d_head).transpose(0, 1))
