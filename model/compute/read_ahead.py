"""Reading a layer's parameters from the disk while the layer before it is computed."""

import ctypes
import mmap
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

from torch import Tensor, nn

from headlight.model.base import memory
from headlight.model.compute import direct_reads
from headlight.model.compute.quantised import memory_of, stored_bytes

LARGE = 2**30  # bytes from which a model may not stay in memory; a smaller one is read once, when it is opened
# Linux' advice on memory that is mapped from files, which Python has no names for: to read it and have it at hand, and
# to forget it before other memory, if any has to be forgotten. Source: madvise(2).
POPULATE_READ, COLD = 22, 20
Advise = Callable[[Tensor, int], None]


def is_large(model: nn.Module) -> bool:
    """Whether a model's parameters may not all stay in memory."""
    return sum(map(stored_bytes, model.parameters())) >= LARGE


def advise(parameter: Tensor, advice: int) -> None:
    """Advise the system on the future use of a parameter's pages."""
    if sys.platform != "linux":
        return
    begin = parameter.data_ptr() // mmap.PAGESIZE * mmap.PAGESIZE
    length = parameter.data_ptr() + parameter.nbytes - begin
    # The advice may fail, as on an older Linux; that changes no result.
    ctypes.CDLL(None).madvise(ctypes.c_void_p(begin), ctypes.c_size_t(length), advice)


def in_turn(blocks: nn.ModuleList, after: Tensor, advise: Advise = advise) -> Iterator[nn.Module]:
    """Yield the blocks while a thread reads ahead: the next block, or the tensors needed `after` all of them.

    What memory can keep is read by the system, which keeps it; what is larger, by direct reads, as long as there are
    any: of 6.4 GB under a limit of 4 GiB (`make bench ARGS=large`) a pass takes half as long by these.
    """
    parameters: list[list[Tensor]] = [list(block.parameters()) for block in blocks]
    with ExitStack() as opened:
        layers = None if _stays(parameters) else direct_reads.extents_of(blocks, opened)
        if layers is None:
            yield from _advised(blocks, parameters, after, advise)
        else:
            yield from direct_reads.in_buffers(blocks, layers, lambda: _read([after], [], advise))


def _stays(parameters: Iterable[Iterable[Tensor]]) -> bool:
    """Whether the system can keep all that was read in memory, for the next pass."""
    free = memory.free()
    return free is None or sum(stored_bytes(each) for of_block in parameters for each in of_block) <= free


def _advised(
    blocks: nn.ModuleList, parameters: list[list[Tensor]], after: Tensor, advise: Advise
) -> Iterator[nn.Module]:
    """The blocks, each while the system reads the next one's pages; those of the one before are the first to go."""
    needs, dones = [*parameters[1:], [after]], [[], *parameters]
    reading: Future[None] | None = None
    with ThreadPoolExecutor(1) as thread:
        for block, done, needed in zip(blocks, dones, needs, strict=False):
            if reading is not None:
                reading.result()
            reading = thread.submit(_read, needed, done, advise)
            yield block


def _read(needed: Iterable[Tensor], done: Iterable[Tensor], advise: Advise) -> None:
    for parameters, advice in ((done, COLD), (needed, POPULATE_READ)):
        for parameter in parameters:
            for part in memory_of(parameter):
                advise(part, advice)
