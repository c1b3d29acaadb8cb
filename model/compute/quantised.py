"""Matrices that are stored in a few bits per number, and dequantised when they are read or used."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Float32
from torch import Tensor, nn
from torch.utils._pytree import tree_map

CHUNK = 2**20  # numbers that are dequantised at once

Dequantise = Callable[..., Float32[Tensor, "..."]]
"""Gives the float32 numbers of some rows from what is stored for each of them."""
View = Callable[[Tensor], Any]  # a tensor, or several
aten = torch.ops.aten
UNCHANGED = (aten.detach.default, aten.alias.default)


@dataclass(frozen=True)
class Storage:
    """Stored form of a matrix: for each row of it, or of its transpose, the same row of each part.

    Attributes:
        parts: tensors of one length, mapped where they lie.
        shape: of the numbers before any view.
        kind: what the numbers are stored as, in words.
        dequantise: gives the numbers of rows of the parts.
        stays: whether it is dequantised where it is used, rather than once when the model is opened.
    """

    parts: tuple[Tensor, ...]
    shape: tuple[int, ...]
    kind: str
    dequantise: Dequantise
    stays: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes in the file."""
        return sum(part.nbytes for part in self.parts)

    def rows(self, pick: View) -> "Storage":
        """The storage of some rows, or of all in another order."""
        parts = tuple(map(pick, self.parts))
        return replace(self, parts=parts, shape=(len(parts[0]), *self.shape[1:]))

    def numbers(self, dtype: torch.dtype) -> Tensor:
        """The numbers, of which only a chunk of rows at a time is in memory as float32."""
        width = torch.Size(self.shape[1:]).numel()
        numbers, step = torch.empty(self.shape, dtype=dtype), max(1, CHUNK // max(1, width))
        for at in range(0, self.shape[0], step):
            rows = self.dequantise(*(part[at : at + step] for part in self.parts))
            numbers[at : at + step] = rows.view(-1, *self.shape[1:])
        return numbers


class Quantised(Tensor):
    """A tensor by its storage. A view of it is another one; any other operation on it is one on its float32 numbers."""

    stored: Storage
    _views: tuple[View, ...]
    _is_changed: bool

    @staticmethod
    def __new__(
        cls, storage: Storage, views: tuple[View, ...] = (), like: Tensor | None = None, is_changed: bool = False
    ) -> "Quantised":
        """Wrap a storage, seen by views of it; `like` has the shape and strides that they come to."""
        like = torch.empty(storage.shape, device="meta") if like is None else like
        with torch.inference_mode(False):  # a view of a parameter may not be an inference tensor
            tensor: Quantised = torch.Tensor._make_wrapper_subclass(
                cls, like.shape, strides=like.stride(), dtype=torch.float32
            )
        tensor.stored, tensor._views, tensor._is_changed = storage, views, is_changed
        return tensor

    def __repr__(self) -> str:  # type: ignore[override]
        return f"Quantised({self.stored.kind}, {list(self.shape)})"

    def dequantised(self, dtype: torch.dtype = torch.float32) -> Tensor:
        """The numbers, as a plain tensor."""
        numbers = self.stored.numbers(torch.float32 if self._is_changed else dtype)
        for view in self._views:
            numbers = view(numbers)
        return numbers.to(dtype)

    def changed(self, change: Callable[[Tensor], Tensor]) -> "Quantised":
        """The same with its numbers changed to others whenever they are dequantised."""
        return Quantised(self.stored, (*self._views, change), self._shell(), is_changed=True)

    def of_rows(self, pick: View) -> "Quantised":
        """The same of some rows, or of all in another order."""
        assert not self._views, "rows of a view are no rows of the storage"
        return Quantised(self.stored.rows(pick))

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        """Share the storage, which is read only."""
        copied = Quantised(self.stored, self._views, self._shell(), self._is_changed)
        memo[id(self)] = copied
        return nn.Parameter(copied, requires_grad=False) if isinstance(self, nn.Parameter) else copied

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        kwargs = kwargs or {}
        if args and isinstance(args[0], Quantised):
            if func.is_view:
                return args[0]._view(func, args[1:], kwargs)
            if func is aten.index.Tensor and (rows := args[0]._rows(args[1])) is not None:
                return rows

        def numbers(value: Any) -> Any:
            return value.dequantised() if isinstance(value, Quantised) else value

        return func(*tree_map(numbers, args), **tree_map(numbers, kwargs))

    def _view(self, func: Any, args: Any, kwargs: Any) -> Any:
        """A view, or several at once. Of whole rows it is one of the storage, so that others are not dequantised."""
        if func in UNCHANGED:
            return Quantised(self.stored, self._views, self._shell(), self._is_changed)
        if not self._views and args[:1] == (0,) and func is aten.slice.Tensor:
            return Quantised(self.stored.rows(lambda part: func(part, *args, **kwargs)))
        if not self._views and args[:1] == (0,) and func is aten.select.int:
            row = range(self.shape[0])[args[1]]
            return Quantised(self.stored.rows(lambda part: part[row : row + 1]))._view(aten.squeeze.dim, (0,), {})
        seen = func(self._shell(), *args, **kwargs)
        if isinstance(seen, Tensor) and seen.dtype != torch.float32:  # a conversion counts as a view in inference mode
            return func(self.dequantised(), *args, **kwargs)

        def view(numbers: Tensor) -> Any:
            return func(numbers, *args, **kwargs)

        if isinstance(seen, Tensor):
            return Quantised(self.stored, (*self._views, view), seen, self._is_changed)

        def part(at: int, numbers: Tensor) -> Any:
            return view(numbers)[at]

        return [
            Quantised(self.stored, (*self._views, partial(part, at)), each, self._is_changed)
            for at, each in enumerate(seen)
        ]

    def _shell(self) -> Tensor:
        """A tensor of this shape without numbers."""
        return torch.empty_strided(self.shape, self.stride(), device="meta")

    def _rows(self, indices: Any) -> Tensor | None:
        """The numbers of the rows that a single index picks."""
        if self._views or len(indices) != 1 or indices[0].dtype == torch.bool:
            return None
        which = indices[0]
        picked = self.stored.rows(lambda part: part[which.reshape(-1)])
        return picked.numbers(torch.float32).view(*which.shape, *self.shape[1:])


def memory_of(tensor: Tensor) -> tuple[Tensor, ...]:
    """The tensors in whose memory a tensor's numbers lie."""
    return tensor.stored.parts if isinstance(tensor, Quantised) else (tensor,)


def plain(tensor: Tensor) -> Tensor:
    """A tensor as it is computed with: dequantised where it is quantised."""
    return tensor.dequantised() if isinstance(tensor, Quantised) else tensor


def of_rows(tensor: Tensor, pick: View) -> Tensor:
    """Some rows of a tensor, or all in another order, quantised or not."""
    return tensor.of_rows(pick) if isinstance(tensor, Quantised) else pick(tensor)


def changed(tensor: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    """A tensor with its numbers changed: at once, or whenever it is dequantised where it stays quantised."""
    if isinstance(tensor, Quantised) and tensor.stored.stays:
        return tensor.changed(change)
    return change(tensor.float()).to(tensor.dtype)


def converted(tensor: Tensor, dtype: torch.dtype | None) -> Tensor:
    """Convert a tensor to a dtype, or keep its own with None; values that cannot stay quantised become float32."""
    if not isinstance(tensor, Quantised):
        return tensor if dtype is None else tensor.to(dtype)
    return tensor if dtype is None and tensor.stored.stays else tensor.dequantised(dtype or torch.float32)


def is_converted(tensor: Tensor, dtype: torch.dtype | None) -> bool:
    """Whether memory has to be taken to have a tensor in a dtype, or with None as it is stored."""
    if isinstance(tensor, Quantised):
        return dtype is not None or not tensor.stored.stays
    return dtype is not None and tensor.dtype != dtype


def stored_bytes(tensor: Tensor) -> int:
    """Number of bytes of a tensor in its file."""
    return tensor.stored.nbytes if isinstance(tensor, Quantised) else tensor.nbytes


def stored_kind(tensor: Tensor) -> str:
    """Data type of a tensor in its file."""
    return tensor.stored.kind if isinstance(tensor, Quantised) else str(tensor.dtype).removeprefix("torch.")


def kinds_of(tensors: Iterable[Tensor]) -> list[str]:
    """Each kind of numbers that tensors are stored as, once."""
    return sorted(set(map(stored_kind, tensors)))
