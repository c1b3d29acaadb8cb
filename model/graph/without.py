"""Taps of a graph's check: one takes out heads' writes, neurons or features, one holds patterns and norm scales."""

from collections.abc import Mapping

from jaxtyping import Bool
from torch import Tensor

from headlight.model.features import Dictionary
from headlight.model.nn.hooks import Look, Tap

Cells = Bool[Tensor, "pos _"]


class Without(Tap):
    """A run without some parts, by layer [pos, head] and [pos, neuron], or [pos, feature] where there are dictionaries.

    What a feature would have written is taken off what the MLP writes, as active as it is in the run that this makes.
    Positions after those of the cells stay as they are.
    """

    def __init__(
        self,
        heads: Mapping[int, Cells],
        units: Mapping[int, Cells],
        dictionaries: Mapping[int, Dictionary] | None,
    ) -> None:
        self._cells = {f"blocks.{layer}.attn.hook_z": cells for layer, cells in heads.items()}
        self._features, self._dictionaries = (units if dictionaries else {}), dictionaries or {}
        if dictionaries is None:
            self._cells |= {f"blocks.{layer}.mlp.hook_post": cells for layer, cells in units.items()}
        self._read: dict[str, list[int]] = {}
        self._write: dict[str, list[tuple[int, int]]] = {}
        for layer in self._features:
            self._read.setdefault(self._dictionaries[layer].hook_in, []).append(layer)
            for out, hook in enumerate(self._dictionaries[layer].hooks_out):
                self._write.setdefault(hook, []).append((layer, out))
        self._taken: dict[int, Tensor] = {}

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        for layer in self._read.get(name, ()):
            cells = self._features[layer].to(activation.device)
            self._taken[layer] = self._dictionaries[layer].encode(activation[:, : len(cells)]) * cells
        if name in self._cells:
            cells = self._cells[name].to(activation.device)
            activation = activation.clone()
            activation[:, : len(cells)][:, cells] = 0
        for layer, out in self._write.get(name, ()):
            activation = activation.clone()
            taken = self._taken[layer]
            active = taken.flatten(0, 1).any(0).nonzero().flatten()
            rows = self._dictionaries[layer].decoder_rows(active.tolist(), out).to(activation)
            activation[:, : taken.shape[1]] -= taken[..., active].to(activation) @ rows
        return activation

    def look(self, name: str) -> Look:
        touched = name in self._cells or name in self._read or name in self._write
        return Look.WHOLE if touched else Look.NEVER


class FreezeToFirst(Tap):
    """Gives every run of a batch the attention patterns and norm scales of the first one."""

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        return activation if self.look(name) is Look.NEVER else activation[:1].expand_as(activation)

    def look(self, name: str) -> Look:
        return Look.WHOLE if name.endswith(("attn.hook_pattern", "hook_scale")) else Look.NEVER
