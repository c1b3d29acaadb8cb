"""Reading a layer's parameters from the disk while the layer before it is computed."""

import ctypes
import mmap
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from torch import Tensor, nn

LARGE = 2**30  # bytes from which a model may not stay in memory; a smaller one is read once, when it is opened
# Linux' advice on memory that is mapped from files, which Python has no names for: to read it and have it at hand, and
# to forget it before other memory, if any has to be forgotten. Source: madvise(2).
POPULATE_READ, COLD = 22, 20


def is_large(model: nn.Module) -> bool:
    """Whether a model's parameters may not all stay in memory."""
    return sum(parameter.nbytes for parameter in model.parameters()) >= LARGE


def in_turn(blocks: nn.ModuleList, after: Tensor) -> Iterator[nn.Module]:
    """The blocks, each while a thread has the system read what comes next: a block, or what is needed `after` them all.

    The block before is the first to be forgotten where memory is short. A pass over 6.4 GB under a limit of 4 GiB
    (`make bench-large`) took 13.4 s with the system told of a layer's need alone (MADV_WILLNEED), and 5.5 s so.
    """
    parameters: list[list[Tensor]] = [list(block.parameters()) for block in blocks]
    needs, dones = [*parameters[1:], [after]], [[], *parameters]
    reading: Future[None] | None = None
    with ThreadPoolExecutor(1) as thread:
        for block, done, needed in zip(blocks, dones, needs, strict=False):
            if reading is not None:
                reading.result()
            reading = thread.submit(_read, needed, done)
            yield block


def _read(needed: Iterable[Tensor], done: Iterable[Tensor]) -> None:
    for parameters, advice in ((done, COLD), (needed, POPULATE_READ)):
        for parameter in parameters:
            _advise(parameter, advice)


def _advise(parameter: Tensor, advice: int) -> None:
    if sys.platform != "linux":
        return
    begin = parameter.data_ptr() // mmap.PAGESIZE * mmap.PAGESIZE
    length = parameter.data_ptr() + parameter.nbytes - begin
    # What fails, as an older Linux does, changes nothing.
    ctypes.CDLL(None).madvise(ctypes.c_void_p(begin), ctypes.c_size_t(length), advice)
