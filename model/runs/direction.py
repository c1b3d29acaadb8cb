"""Directions in the residual stream: a vector for each of some layers, along which an edit moves the stream."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from headlight.model.base.errors import InputError

HOOK = "hook_resid_pre"
MARK = "@"  # between a direction's name and its digest


@dataclass(frozen=True, eq=False)
class Direction:
    """A direction in the residual stream.

    Attributes:
        name: what it is called.
        vectors: by layer, what an edit with factor 1 adds to the stream before that layer; by the number of layers,
            to the stream after the last. Where it was found by `find_directions`, its length is the stream's mean norm.
        position: where it was found: "end", "mean" or the name of a position.
        method: how it was found.
        model: the name of the model that it was found in.
    """

    name: str
    vectors: Mapping[int, Float[Tensor, " d_model"]]
    position: str = "end"
    method: str = ""
    model: str = ""

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers that it has a vector for, in order."""
        return tuple(sorted(self.vectors))

    @property
    def d_model(self) -> int:
        """The width of the stream that it lies in."""
        return next(iter(self.vectors.values())).shape[0]

    @property
    def identity(self) -> str:
        """Its name and a digest of its numbers, by which links and caches name it."""
        digest = hashlib.sha256()
        for layer in self.layers:
            digest.update(f"{layer}:".encode())
            digest.update(self.vectors[layer].contiguous().numpy().tobytes())
        return f"{self.name}{MARK}{digest.hexdigest()[:12]}"

    def unit(self, layer: int) -> Float[Tensor, " d_model"]:
        """The vector of a layer at length 1."""
        return self.vectors[layer] / self.vectors[layer].norm()

    def fits(self, d_model: int, n_layers: int) -> bool:
        """Whether a model of this width has all layers that the direction has vectors for."""
        return self.d_model == d_model and self.layers[-1] <= n_layers

    def check_fits(self, d_model: int, n_layers: int) -> None:
        """Refuse a model of another size.

        Raises:
            InputError: it says what the direction has and what the model has.
        """
        if not self.fits(d_model, n_layers):
            made = f", which was found in {self.model}," if self.model else ""
            raise InputError(
                f"The direction {self.name!r}{made} has {self.d_model:,} numbers a layer and goes up to layer "
                f"{self.layers[-1]}; this model's stream is {d_model:,} wide and has {n_layers} layers. Open a "
                "direction of this model."
            )


def state_hook(layer: int, n_layers: int) -> str:
    """The full name of the stream before a layer, or, by the number of layers, after the last."""
    return f"blocks.{layer}.{HOOK}" if layer < n_layers else f"blocks.{n_layers - 1}.hook_resid_post"
