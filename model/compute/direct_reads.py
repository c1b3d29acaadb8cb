"""Layers that are read from the disk into two buffers in turn: one is computed with while the other is filled.

The reads go past what the system keeps of files in memory (O_DIRECT). Where a model is larger than memory, keeping its
pages and forgetting them again for the next ones would take the processor's time from the products.
"""

import copy
import mmap
import os
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from headlight.model.base.errors import CheckpointError
from headlight.model.compute.quantised import Quantised

MAPS = Path("/proc/self/maps")
BLOCK = 4096  # bytes: where direct reads begin and end, in files and in memory, has to be a multiple of the disk's


class Mapped(NamedTuple):
    """A part of a file that is mapped into memory: addresses, and where in the file the first of them is."""

    begin: int
    end: int
    offset: int
    path: str


@dataclass(frozen=True)
class Extent:
    """A matrix's place in a file and in a buffer, in whole blocks; it begins `skip` bytes behind their beginning."""

    matrix: Tensor
    file: int
    offset: int
    length: int
    place: int
    skip: int


class Buffer:
    """Memory for one layer's matrices, in large pages where the system has some."""

    def __init__(self, size: int) -> None:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.madvise(mmap.MADV_HUGEPAGE)
        self._bytes, self._tensor = memoryview(memory), torch.frombuffer(memory, dtype=torch.uint8)

    def fill(self, extents: Sequence[Extent]) -> None:
        """Read a layer's matrices.

        Raises:
            CheckpointError: a file that has become shorter since it was mapped.
        """
        for extent in extents:
            done, needed = 0, extent.skip + extent.matrix.nbytes
            while done < needed:
                rest = self._bytes[extent.place + done : extent.place + extent.length]
                if not (read := os.preadv(extent.file, [rest], extent.offset + done)):
                    raise CheckpointError("A file of the model became shorter since it was opened. Open it again.")
                done += read

    def layer(self, block: nn.Module, extents: Sequence[Extent]) -> nn.Module:
        """A layer with the matrices that were read."""
        own = {id(parameter): parameter for parameter in block.parameters()}
        return copy.deepcopy(block, {**own, **{id(extent.matrix): self._matrix(extent) for extent in extents}})

    def _matrix(self, extent: Extent) -> nn.Parameter:
        begin, like = extent.place + extent.skip, extent.matrix
        flat = self._tensor[begin : begin + like.nbytes].view(like.dtype)
        return nn.Parameter(flat.as_strided(like.shape, like.stride()), requires_grad=False)


def extents_of(blocks: nn.ModuleList, opened: ExitStack) -> list[list[Extent]] | None:
    """Byte ranges of each block's matrices in files, which stay open as long as `opened`; None where unavailable.

    What lies in no file, or is no matrix, is left out.
    """
    files = dict[str, int]()
    try:
        mapped = _mapped()
        extents = [_of_block(block, mapped, files) for block in blocks]
    except (AttributeError, OSError):  # another system than Linux has none of this; some file systems refuse O_DIRECT
        return None
    finally:
        for file in files.values():
            opened.callback(os.close, file)
    return extents if any(extents) else None


def in_buffers(
    blocks: nn.ModuleList, layers: Sequence[Sequence[Extent]], read_after: Callable[[], None]
) -> Iterator[nn.Module]:
    """The blocks, each with its matrices in a buffer that is filled while the block before it is computed.

    `read_after` is called while the last one is. What somebody keeps of a block is another layer's two blocks later.

    Raises:
        CheckpointError: as `Buffer.fill`.
    """
    size = max(sum(extent.length for extent in each) for each in layers)
    buffers = Buffer(size), Buffer(size)
    reads: list[Callable[[], None]] = [partial(to.fill, each) for to, each in zip(cycle(buffers), layers, strict=False)]
    with ThreadPoolExecutor(1) as thread:
        reading = thread.submit(reads[0])
        following = [*reads[1:], read_after]
        for block, extents, buffer, read_next in zip(blocks, layers, cycle(buffers), following, strict=False):
            reading.result()
            reading = thread.submit(read_next)
            yield buffer.layer(block, extents)


def _of_block(block: nn.Module, mapped: Sequence[Mapped], files: dict[str, int]) -> list[Extent]:
    extents, place = list[Extent](), 0
    for parameter in block.parameters():
        if parameter.ndim < 2 or isinstance(parameter, Quantised) or (known := _mapping(parameter, mapped)) is None:
            continue
        if known.path not in files:
            files[known.path] = os.open(known.path, os.O_RDONLY | os.O_DIRECT)
        skip = (offset := known.offset + parameter.data_ptr() - known.begin) % BLOCK
        length = -(-(skip + parameter.nbytes) // BLOCK) * BLOCK
        extents.append(Extent(parameter, files[known.path], offset - skip, length, place, skip))
        place += length
    return extents


def _mapped() -> list[Mapped]:
    """Memory mappings of files, by address. Source: proc_pid_maps(5)."""
    mappings = []
    for line in filter(None, os.fsdecode(MAPS.read_bytes()).split("\n")):  # a path may hold any other end of a line
        addresses, _, offset, _, inode, *path = line.split(maxsplit=5)
        if inode != "0" and path:
            begin, end = (int(each, 16) for each in addresses.split("-"))
            mappings.append(Mapped(begin, end, int(offset, 16), path[0]))
    return mappings


def _mapping(parameter: Tensor, mapped: Sequence[Mapped]) -> Mapped | None:
    """The mapping that holds a parameter's numbers."""
    begin = parameter.data_ptr()
    mapping = mapped[bisect(mapped, begin, key=lambda each: each.begin) - 1]
    fits = mapping.begin <= begin and begin + parameter.nbytes <= mapping.end and begin % parameter.itemsize == 0
    return mapping if fits else None
