"""The activations that a run keeps of its forward pass."""

from collections.abc import Iterator

import torch
from torch import Tensor

from headlight.model.nn.hooks import Look, Tap
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.edits.editing import NO_EDITS, EditTap

KEPT = ("hook_v", "hook_attn_out", "hook_mlp_out", "hook_conv_out", "_embed", "_post.hook_scale", "_norm.hook_scale")
STREAMS = ("hook_resid_pre", "hook_resid_mid", "hook_resid_post")  # kept where an edit changes them


class Keep(Tap):
    """Keeps the activations in `KEPT`, queries and keys, and edited streams.

    What is kept is copied, all layers of a kind side by side: left where the pass put them, the kept ones would pin the
    memory of those that passed between them (100 MB at 1024 tokens of GPT-2).
    """

    def __init__(self, model: Transformer, editing: EditTap = NO_EDITS) -> None:
        self._n_layers, self._editing = model.cfg.n_layers, editing
        layers = range(model.cfg.n_layers)
        self._compared = {f"blocks.{at}.attn.{name}" for at in layers for name in model.block(at).attn.compared}
        self._shelves: dict[str, Iterator[Tensor]] = {}
        self.kept: dict[str, Tensor] = {}

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        if self._keeps(name):
            kind = name.split(".", 2)[-1]  # in whichever layer
            if kind not in self._shelves:
                n_layers = self._n_layers if name.startswith("blocks.") else 1
                dtype = torch.promote_types(activation.dtype, torch.float32)
                self._shelves[kind] = iter(torch.empty(n_layers, *activation.shape[1:], dtype=dtype))
            self.kept[name] = next(self._shelves[kind]).copy_(activation[0])
        elif self._is_edited_stream(name):
            self.kept[name] = activation[0].cpu().clone()
        return activation

    def look(self, name: str) -> Look:
        return Look.WHOLE if self._keeps(name) or self._is_edited_stream(name) else Look.NEVER

    def _keeps(self, name: str) -> bool:
        return name.endswith(KEPT) or name in self._compared

    def _is_edited_stream(self, name: str) -> bool:
        return name.endswith(STREAMS) and self._editing.look(name) is not Look.NEVER
