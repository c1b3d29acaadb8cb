"""Matrices that are stored in blocks of a few bits per number, and dequantised when they are read."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from jaxtyping import Float32, UInt8
from torch import Tensor
from torch.utils._pytree import tree_map

CHUNK = 2**20  # numbers that are turned at once

Dequantise = Callable[[UInt8[Tensor, "row byte"]], Float32[Tensor, "row number"]]
"""Gives the float32 numbers of rows of bytes."""


class Quantised(Tensor):
    """A tensor by its bytes, row by row, mapped where they lie. Any operation on it is one on its float32 numbers."""

    rows: Tensor
    kind: str
    _dequantise: Dequantise

    @staticmethod
    def __new__(cls, rows: Tensor, shape: tuple[int, ...], kind: str, dequantise: Dequantise) -> "Quantised":
        """Wrap rows of bytes, [row, byte], of a tensor of this shape, whose kind has a name."""
        made: Quantised = torch.Tensor._make_wrapper_subclass(cls, shape, dtype=torch.float32)
        made.rows, made.kind, made._dequantise = rows, kind, dequantise
        return made

    def __repr__(self) -> str:  # type: ignore[override]
        return f"Quantised({self.kind}, {list(self.shape)})"

    def dequantised(self, dtype: torch.dtype) -> Tensor:
        """The numbers, of which no more are in memory as float32 than are turned at once."""
        n_rows, width = len(self.rows), self.shape[-1]
        numbers, step = torch.empty(n_rows, width, dtype=dtype), max(1, CHUNK // width)
        for at in range(0, n_rows, step):
            numbers[at : at + step] = self._dequantise(self.rows[at : at + step]).view(-1, width)
        return numbers.view(self.shape)

    def of_rows(self, pick: Callable[[Tensor], Tensor]) -> "Quantised":
        """The same of some rows, or of all in another order."""
        rows = pick(self.rows)
        return Quantised(rows, (len(rows), *self.shape[1:]), self.kind, self._dequantise)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        def numbers(value: Any) -> Any:
            return value.dequantised(torch.float32) if isinstance(value, Quantised) else value

        return func(*tree_map(numbers, args), **tree_map(numbers, kwargs or {}))


def of_rows(tensor: Tensor, pick: Callable[[Tensor], Tensor]) -> Tensor:
    """Some rows of a tensor, or all in another order, quantised or not."""
    return tensor.of_rows(pick) if isinstance(tensor, Quantised) else pick(tensor)


def converted(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """A tensor in another dtype; itself where it has that."""
    return tensor.dequantised(dtype) if isinstance(tensor, Quantised) else tensor.to(dtype)


def is_converted(tensor: Tensor, dtype: torch.dtype) -> bool:
    """Whether memory has to be taken to have a tensor in a dtype."""
    return isinstance(tensor, Quantised) or tensor.dtype != dtype


def stored_bytes(tensor: Tensor) -> int:
    """How many bytes a tensor has in its file."""
    return tensor.rows.nbytes if isinstance(tensor, Quantised) else tensor.nbytes


def stored_kind(tensor: Tensor) -> str:
    """What a tensor's numbers are in its file."""
    return tensor.kind if isinstance(tensor, Quantised) else str(tensor.dtype).removeprefix("torch.")


def kinds_of(tensors: Iterable[Tensor]) -> list[str]:
    """Each kind of numbers that tensors are stored as, once."""
    return sorted(set(map(stored_kind, tensors)))
