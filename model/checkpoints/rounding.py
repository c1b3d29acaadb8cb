"""Run a model with its files' values in float32, as the reference for one with rounded matrices."""

from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.func import functional_call

from headlight.model.base import memory
from headlight.model.base.errors import TooLargeError
from headlight.model.base.source import Source
from headlight.model.checkpoints.loading import load
from headlight.model.checkpoints.reference import Reference
from headlight.model.nn.hooks import NO_TAP, Chain, Collect, Tap

FLOAT = 4  # bytes


class _InFloat32(nn.Module):
    """A layer whose parameters are float32 for as long as it computes, so that no other's have to be."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, *args: Any) -> Tensor:
        widened = {name: parameter.float() for name, parameter in self.layer.named_parameters()}
        return functional_call(self.layer, widened, args)


def in_float32(source: Source, tokens: Int[Tensor, "batch pos"], watch: Tap = NO_TAP) -> Reference:
    """One pass in float32 with the values as the files hold them, of a layer at a time; `watch` sees it.

    Raises:
        TooLargeError: memory does not hold a layer in float32.
    """
    model = load(source.path, dtype="stored")
    layer = FLOAT * max(sum(parameter.numel() for parameter in block.parameters()) for block in model.blocks)
    if (free := memory.free()) is not None and layer > free:
        raise TooLargeError(f"A layer takes {layer / 1e9:.1f} GB in float32, and {free / 1e9:.1f} GB are free.")
    model.blocks = nn.ModuleList(map(_InFloat32, model.blocks))
    streams = [f"blocks.{layer}.hook_resid_pre" for layer in range(model.cfg.n_layers)]
    patterns = [f"blocks.{layer}.attn.hook_pattern" for layer in range(model.cfg.n_layers)]
    kept = Collect([*streams, *patterns])
    with torch.inference_mode():
        logits = model(tokens, tap=Chain(kept, watch))
    return Reference(logits, tuple(kept.kept[name] for name in streams), tuple(kept.kept[name] for name in patterns))
