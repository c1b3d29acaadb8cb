"""Common parts of quantization methods: the tensors of which a matrix consists, and checks of these."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headlight.model.base.errors import CheckpointError, ConfigError
from headlight.model.compute.quantised import Dequantise, Quantised, Storage

Settings = Mapping[str, Any]  # what config.json says of the quantisation
FLOATS = (torch.float32, torch.float16, torch.bfloat16)
NEXT_STEP = "Copy or download the folder again."
OTHERWISE = "Save the model dequantised, as the manual shows under Quantised folders, or open the one it was made from."


@dataclass(frozen=True)
class Parts:
    """The tensors of one quantised matrix by the ends of their names, and the beginning that these share."""

    stem: str
    tensors: Mapping[str, Tensor]

    def __getitem__(self, end: str) -> Tensor:
        return self.tensors[end]

    def get(self, end: str) -> Tensor | None:
        """The tensor of this end, if there is one."""
        return self.tensors.get(end)

    def require(self, is_right: bool, end: str, what: str, next_step: str = NEXT_STEP) -> None:
        """Refuse a tensor of another shape or dtype than required.

        Raises:
            CheckpointError: it is not.
        """
        if not is_right:
            tensor = self.tensors[end]
            kind = str(tensor.dtype).removeprefix("torch.")
            raise CheckpointError(
                f"{self.stem}{end} is {list(tensor.shape)} of {kind}; it has to be {what}. {next_step}"
            )

    def matrix(self, end: str, *dtypes: torch.dtype) -> Tensor:
        """The tensor of this end, which has to have two axes and one of these dtypes."""
        tensor, kinds = self.tensors[end], " or ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)
        self.require(tensor.ndim == 2 and tensor.numel() > 0 and tensor.dtype in dtypes, end, f"a matrix of {kinds}")
        return tensor

    def check(self, end: str, shape: tuple[int, ...], *dtypes: torch.dtype) -> Tensor:
        """The tensor of this end, which has to have this shape and one of these dtypes."""
        tensor, kinds = self.tensors[end], " or ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)
        self.require(tuple(tensor.shape) == shape and tensor.dtype in dtypes, end, f"{list(shape)} of {kinds}")
        return tensor


@dataclass(frozen=True)
class Scheme:
    """One way of storing a quantised matrix.

    Attributes:
        mark: the end of the tensor's name by which the matrix is known to be stored so.
        needed: the ends of the others that it takes.
        read: gives the matrix by its parts and by what config.json says.
        optional: ends of tensors that it may have.
        matrix: the end of the matrix's own name.
        unread: ends of tensors that are not needed for the weights.
    """

    mark: str
    needed: tuple[str, ...]
    read: Callable[[Parts, Settings], Tensor]
    optional: tuple[str, ...] = ()
    matrix: str = ".weight"
    unread: tuple[str, ...] = ()

    def take(self, tensors: dict[str, Tensor], settings: Settings) -> dict[str, Tensor]:
        """Replace the parts of each matrix that is stored so by that matrix.

        Raises:
            CheckpointError: a part is missing or has a wrong shape.
            ConfigError: what config.json says of the quantisation is not supported.
        """
        rest = {name: tensor for name, tensor in tensors.items() if not name.endswith(self.unread)}
        matrices = dict[str, Tensor]()
        for name in [name for name in rest if name.endswith(self.mark)]:
            stem = name.removesuffix(self.mark)
            if missing := [end for end in self.needed if f"{stem}{end}" not in rest]:
                raise CheckpointError(
                    f"The folder holds {name} without {stem}{missing[0]}, by which it is dequantised. {NEXT_STEP}"
                )
            ends = [end for end in (self.mark, *self.needed, *self.optional) if f"{stem}{end}" in rest]
            parts = Parts(stem, {end: rest.pop(f"{stem}{end}") for end in ends})
            matrices[f"{stem}{self.matrix}"] = self.read(parts, settings)
        return rest | matrices


def quantised(parts: tuple[Tensor, ...], shape: tuple[int, ...], kind: str, dequantise: Dequantise) -> Quantised:
    """A tensor that stays as it is stored, by parts whose rows belong together."""
    return Quantised(Storage(parts, shape, kind, dequantise, stays=True))


def whole(settings: Settings, name: str, allowed: tuple[int, ...], default: Any = None) -> int:
    """A whole number of the settings.

    Raises:
        ConfigError: it is none of those that are allowed.
    """
    value = settings.get(name, default)
    if type(value) is not int or value not in allowed:
        raise ConfigError(
            f"config.json's quantisation sets {name} to {value!r:.60}; it can be {', '.join(map(str, allowed))}."
        )
    return value


def group_size(settings: Settings, default: Any = None) -> int | None:
    """Number of a row's values that share a scale; None for all of them.

    Raises:
        ConfigError: it is no number of them.
    """
    value = settings.get("group_size", default)
    if value in (None, -1):
        return None
    if type(value) is not int or value < 1:
        raise ConfigError(
            f"config.json's quantisation sets group_size to {value!r:.60}; it is a number, or -1 for all."
        )
    return value
