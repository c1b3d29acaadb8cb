"""Letting dictionaries stand in for the activations that they are of, in a forward pass."""

from collections.abc import Iterable

from torch import Tensor

from headlight.model.dictionaries.dictionary import Dictionary
from headlight.model.hooks import Look, Tap


class StandIn(Tap):
    """Puts what dictionaries make of what they read in the place of what they stand for; errors are left out.

    Where several write to one activation, as of a cross-layer transcoder, their sum takes its place. What is read is
    what the pass has there, with what stood in before.
    """

    def __init__(self, dictionaries: Iterable[Dictionary]) -> None:
        dictionaries = tuple(dictionaries)
        self._reads = {each.hook_in for each in dictionaries}
        self._writers = {
            hook: [d for d in dictionaries if hook in d.hooks_out] for d in dictionaries for hook in d.hooks_out
        }
        self._read: dict[str, Tensor] = {}

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        if name in self._reads:
            self._read[name] = flat(name, activation)
        if name not in self._writers:
            return activation
        return sum((self._written(each, name) for each in self._writers[name]), start=activation.new_zeros(())).reshape(
            activation.shape
        )

    def _written(self, dictionary: Dictionary, name: str) -> Tensor:
        read = self._read[dictionary.hook_in]
        return dictionary.decode(dictionary.encode(read), read, dictionary.hooks_out.index(name))

    def look(self, name: str) -> Look:
        return Look.WHOLE if name in self._reads or name in self._writers else Look.NEVER


def flat(name: str, activation: Tensor) -> Tensor:
    """An activation as dictionaries read it: its heads, where it has some, side by side."""
    return activation.flatten(-2) if name.endswith("hook_z") else activation
