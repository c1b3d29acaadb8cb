"""Batch variants of a run with the run: they join it at a layer, share its edits, and get their own patches."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.nn.cache import ActivationCache
from headlight.model.nn.hooks import Look, Tap
from headlight.model.patching.grids import Variant


class Growing(Tap):
    """Lets variants join the run in row 0; after the activation `alone` only the position that is read goes on."""

    def __init__(
        self, joining: Mapping[str, Float[Tensor, "variant pos d_model"]], alone: str | None, position: int
    ) -> None:
        self._joining, self._alone, self._position = joining, alone, position

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        change = self._joining.get(name)
        if change is not None:
            if activation.shape[1] < change.shape[1]:
                change = change[:, [self._position]]
            activation = torch.cat([activation, activation[:1] + change])
        return activation[:, [self._position]] if name == self._alone else activation


class Later(Tap):
    """A run's edits from a layer on; those of the stream that it begins with have been made."""

    def __init__(self, tap: Tap, layer: int) -> None:
        self._tap, self._begun = tap, f"blocks.{layer}.hook_resid_pre"

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        return activation if name == self._begun else self._tap(name, activation)

    def look(self, name: str) -> Look:
        return self._tap.look(name)


class Put(Tap):
    """Puts the part of each variant, whose row is one more than its place, in the place of the run's own."""

    def __init__(self, variants: Sequence[Variant], source: ActivationCache) -> None:
        self._source = source
        self._rows: dict[str, list[tuple[int, Variant]]] = {}
        for row, variant in enumerate(variants, 1):
            part = "attn.hook_z" if variant.part == "z" else f"hook_{variant.part}"
            if variant.part != "resid_pre":
                self._rows.setdefault(f"blocks.{variant.layer}.{part}", []).append((row, variant))

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        if name not in self._rows:
            return activation
        activation = activation.clone()
        for row, variant in self._rows[name]:
            place = slice(None) if variant.position is None else variant.position
            at = (place,) if variant.head is None else (place, variant.head)
            activation[(row, *at)] = self._source[name][at]
        return activation
