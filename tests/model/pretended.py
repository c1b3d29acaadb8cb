"""Devices that nobody has: tensors that say that they lie there, and are computed with in memory.

An operation on tensors of two devices fails, as it would on real ones; what is made is where its operands are.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

FIRST, SECOND = "maia:0", "maia:1"  # a kind that torch knows by name and never asks anything
MOVES = ("copy_", "_to_copy", "to")
CPU = torch.device("cpu")
OF_TENSORS = ("__get__", "__set__", "to", "detach", "requires_grad_")  # what torch does with any tensor, or by a mode


class Elsewhere(Tensor):
    """A tensor of a device that is pretended, whose numbers lie in memory."""

    here: Tensor

    @staticmethod
    def __new__(cls, here: Tensor, device: torch.device | None = None, requires_grad: bool = False) -> "Elsewhere":
        if isinstance(here, Elsewhere):
            here, device = here.here, here.device
        made = torch.Tensor._make_wrapper_subclass(
            cls, here.size(), here.stride(), here.storage_offset(), dtype=here.dtype, device=device
        )
        made.here = here
        return made

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func.__name__ in OF_TENSORS:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **kwargs or {})
        return _computed(func, func.__name__, args, dict(kwargs or {}))

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return _computed(func, func.overloadpacket.__name__, args, dict(kwargs or {}))


class Pretended(TorchDispatchMode):
    """Within it, tensors can be made on devices that are pretended, and brought there."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return _computed(func, func.overloadpacket.__name__, args, dict(kwargs or {}))


def _computed(func: Callable[..., Any], name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
    places = {each.device for each in tensors if each.ndim}  # a number may come from anywhere
    if len(places) > 1 and name not in MOVES:
        raise RuntimeError(f"{name} is given tensors on {' and '.join(sorted(map(str, places)))}")
    devices = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.device)]
    of_operands = tensors[0].device if tensors and (name in MOVES or not places) else next(iter(places), CPU)
    place = devices[0] if devices else of_operands
    args, kwargs = tree_map_only(torch.device, lambda _: CPU, tree_map_only(Elsewhere, _here, (args, kwargs)))
    result = func(*args, **kwargs)
    if place.type == "cpu":
        return result
    changed = {id(each.here): each for each in tensors if isinstance(each, Elsewhere) and each.device == place}

    def placed(made: Tensor) -> Tensor:
        return changed[id(made)] if id(made) in changed else Elsewhere(made, place)

    return tree_map_only(Tensor, placed, result)


def _here(tensor: Elsewhere) -> Tensor:
    return tensor.here
