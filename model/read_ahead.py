"""Reading a layer's parameters from the disk while the layer before it is computed."""

import ctypes
import mmap
from collections.abc import Iterable

from torch import Tensor, nn

LARGE = 2**30  # bytes from which a model may not stay in memory; a smaller one is read once, when it is opened
WILL_NEED = getattr(mmap, "MADV_WILLNEED", None)  # not on Windows


def is_large(model: nn.Module) -> bool:
    """Whether a model's parameters may not all stay in memory."""
    return sum(parameter.nbytes for parameter in model.parameters()) >= LARGE


def will_need(parameters: Iterable[Tensor]) -> None:
    """Tell the system that these will be read soon; it reads what is mapped from files and not in memory yet."""
    if WILL_NEED is None:
        return
    advise = ctypes.CDLL(None).madvise
    for parameter in parameters:
        begin = parameter.data_ptr() // mmap.PAGESIZE * mmap.PAGESIZE
        length = parameter.data_ptr() + parameter.nbytes - begin
        advise(ctypes.c_void_p(begin), ctypes.c_size_t(length), WILL_NEED)  # advice: what fails changes nothing
