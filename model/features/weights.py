"""Holding a dictionary's tensors against the shapes that its settings ask for, before any is computed with."""

from collections.abc import Mapping

from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.checkpoints.tensors import FLOATS, is_finite, listed
from headlight.model.compute.read_ahead import LARGE


def width_of(tensors: Mapping[str, Tensor], name: str, n_axes: int) -> tuple[int, ...]:
    """A tensor's shape, where no settings tell it.

    Raises:
        CheckpointError: it is missing, has another number of axes or is empty.
    """
    if name not in tensors:
        raise CheckpointError(f"The dictionary lacks the tensors {name}.")
    shape = tuple(tensors[name].shape)
    if len(shape) != n_axes or not all(shape):
        raise CheckpointError(f"The dictionary's {name} is {list(shape)}; it needs {n_axes} axes, none of them empty.")
    return shape


def checked(tensors: Mapping[str, Tensor], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """Check that tensors have these shapes, a float dtype and finite values, and return them.

    Of a large dictionary these are looked at in what has one axis alone; the rest is where it is computed with.

    Raises:
        CheckpointError: one is missing, unexpected, of another shape or dtype, or has NaN or infinite values.
    """
    _refuse("lacks the tensors", [name for name in shapes if name not in tensors])
    _refuse("has tensors that its settings do not tell of:", [name for name in tensors if name not in shapes])
    wrong = [name for name, shape in shapes.items() if tuple(tensors[name].shape) != shape]
    _refuse(
        "has tensors of another shape than its settings ask for:",
        [f"{name} is {list(tensors[name].shape)}, not {list(shapes[name])}" for name in wrong],
    )
    _refuse(
        "has tensors that are not float32, float16 or bfloat16:",
        [name for name in shapes if tensors[name].dtype not in FLOATS],
    )
    is_small = sum(tensors[name].nbytes for name in shapes) < LARGE
    _refuse(
        "has NaN or infinite values in",
        [name for name, shape in shapes.items() if (is_small or len(shape) == 1) and not is_finite(tensors[name])],
    )
    return {name: tensors[name] for name in shapes}


def _refuse(what: str, offenders: list[str]) -> None:
    if offenders:
        raise CheckpointError(f"The dictionary {what} {listed(offenders)}.")
