"""Replace activations by their reconstruction during a forward pass."""

from collections.abc import Iterable

import torch
from torch import Tensor

from headlight.model.nn.hooks import Look, Tap
from headlight.model.runs.dictionary import Dictionary


class Splice(Tap):
    """Replace activations by dictionaries' reconstructions, without the errors.

    Where several write to one activation, as of a cross-layer transcoder, their sum takes its place. What is read is
    what the pass has there, with what stood in before. With `hooks` they stand for these activations alone.
    """

    def __init__(self, dictionaries: Iterable[Dictionary], hooks: Iterable[str] | None = None) -> None:
        dictionaries = tuple(dictionaries)
        hooks = {hook for each in dictionaries for hook in each.hooks_out} if hooks is None else hooks
        self._writers = {hook: [each for each in dictionaries if hook in each.hooks_out] for hook in hooks}
        self._reads = {each.hook_in for writers in self._writers.values() for each in writers}
        self._read: dict[str, Tensor] = {}

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        if name in self._reads:
            self._read[name] = flat(name, activation).float().cpu()
        if name not in self._writers:
            return activation
        made = sum((self._written(each, name) for each in self._writers[name]), start=torch.zeros(()))
        return made.reshape(activation.shape).to(activation)

    def _written(self, dictionary: Dictionary, name: str) -> Tensor:
        read = self._read[dictionary.hook_in]
        return dictionary.decode(dictionary.encode(read), read, dictionary.hooks_out.index(name))

    def look(self, name: str) -> Look:
        return Look.WHOLE if name in self._reads or name in self._writers else Look.NEVER


def flat(name: str, activation: Tensor) -> Tensor:
    """An activation as dictionaries read it: its heads, where it has some, side by side."""
    return activation.flatten(-2) if name.endswith("hook_z") else activation
