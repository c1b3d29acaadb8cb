"""The k largest of some values, of which there may be fewer."""

import torch
from jaxtyping import Shaped
from torch import Tensor

from headlight.model.base.errors import InputError


def at_most(k: int, n: int) -> int:
    """The number of n values to list for a request of k.

    Raises:
        InputError: k is below 1.
    """
    if k < 1:
        raise InputError(f"k is {k}; ask for at least 1.")
    return min(k, n)


def best(values: Shaped[Tensor, "*axis"], k: int, dim: int = -1, *, lowest: bool = False) -> torch.return_types.topk:
    """The k best along an axis, or the k lowest, and their indices, best first; all of them where there are fewer."""
    return values.topk(at_most(k, values.shape[dim]), dim, largest=not lowest)
