"""Estimate memory and time for opening a checkpoint from its tensors' names and shapes alone."""

import os
import random
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from headlight.model.base import memory
from headlight.model.base.errors import TooLargeError
from headlight.model.compute.quantised import is_converted, kinds_of, stored_bytes
from headlight.model.compute.read_ahead import LARGE
from headlight.model.nn.config import DType

SAMPLES, SAMPLE = 8, 2**22  # number and bytes of the samples that time the disk
ASSUMED = 5e8  # bytes a second, of a disk of today
CONVERTED = 1e9  # bytes a second that one core of today turns into another dtype, or less
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def kept_in(tensor: Tensor, dtype: DType) -> torch.dtype | None:
    """The dtype that a tensor is converted to, None where it is kept as stored; vectors are never rounded."""
    return None if dtype == "stored" or (dtype == "bfloat16" and tensor.ndim < 2) else DTYPES[dtype]


def converted_bytes(tensors: Iterable[Tensor], dtype: DType) -> int:
    """Bytes of memory for the tensors that have to be converted; the others are views of the files."""
    kept = ((tensor, kept_in(tensor, dtype)) for tensor in tensors)
    return sum(tensor.numel() * (into or torch.float32).itemsize for tensor, into in kept if is_converted(tensor, into))


def check_room(tensors: Collection[Tensor], dtype: DType) -> None:
    """Refuse a conversion that does not fit in memory, before anything is read.

    Raises:
        TooLargeError: names what it would take, what is free, and a dtype that would fit.
    """
    needed, free = converted_bytes(tensors, dtype), memory.free()
    if free is None or needed <= free:
        return
    half = converted_bytes(tensors, "bfloat16")
    or_half = f', or with dtype="bfloat16" (--dtype bfloat16), which takes {_gb(half)}' if 0 < half <= free else ""
    raise TooLargeError(
        f"In {dtype} the weights take {_gb(needed)} of memory, and {_gb(free)} are free. Open the model with "
        f'dtype="stored" (a server: --dtype stored): its weights, {_gb(_bytes(tensors))}, stay in their files and are '
        f"read as they are needed{or_half}."
    )


@dataclass(frozen=True)
class Estimate:
    """Memory and time for opening a model and for a forward pass.

    Attributes:
        stored: bytes in its files.
        mapped: bytes that stay in the files: read when needed, and the system may drop them from memory again.
        converted: bytes of memory for tensors that are converted to `dtype`.
        kinds: dtypes in the files.
        dtype: dtype of the matrices in the model.
        free: free memory in bytes, None where the system does not tell.
        rate: bytes per second from the disk.
    """

    stored: int
    mapped: int
    converted: int
    kinds: tuple[str, ...]
    dtype: DType
    free: int | None
    rate: float

    @property
    def fits(self) -> bool:
        """Whether the converted tensors fit in memory."""
        return self.free is None or self.converted <= self.free

    @property
    def stays(self) -> bool:
        """Whether the whole model stays in memory after the first pass; otherwise each pass reads it from the disk."""
        return self.free is None or self.converted + self.mapped <= self.free

    @property
    def is_large(self) -> bool:
        """Whether opening takes long enough to announce it."""
        return self.stored >= LARGE

    @property
    def opening_seconds(self) -> float:
        """Estimated time to open the model; a large model's mapped tensors are not read yet."""
        read = self.stored - self.mapped if self.is_large else self.stored
        return read / self.rate + self.converted / CONVERTED

    @property
    def reading_seconds(self) -> float:
        """Estimated time that the first forward pass, or each one, waits for the disk."""
        return self.mapped / self.rate if self.is_large else 0.0

    def __str__(self) -> str:
        size = f"{_gb(self.stored)} of {' and '.join(self.kinds)}"
        if not self.fits:
            return f"{size}, in {self.dtype} {_gb(self.converted)} of memory, of which {_gb(self.free or 0)} are free"
        if self.converted:
            size += f", of which {_gb(self.converted)} of {self.dtype} are made, {_about(self.opening_seconds)}"
        if not self.is_large or not self.mapped:
            return size
        reading = _about(self.reading_seconds)
        if self.stays:
            return f"{size}, which the first pass reads, {reading}"
        return f"{size}, more than the {_gb(self.free or 0)} of memory that are free: each pass reads them, {reading}"


def estimate(files: Sequence[Path], tensors: Collection[Tensor], dtype: DType) -> Estimate:
    """Estimate time and memory for opening a checkpoint; samples of a large one are read to time the disk."""
    stored = _bytes(tensors)
    mapped = sum(stored_bytes(tensor) for tensor in tensors if not is_converted(tensor, kept_in(tensor, dtype)))
    kinds = kinds_of(tensors)
    rate = _rate(files) if stored >= LARGE else ASSUMED
    return Estimate(stored, mapped, converted_bytes(tensors, dtype), tuple(kinds), dtype, memory.free(), rate)


def _rate(files: Sequence[Path]) -> float:
    """Measure bytes per second on random samples: a part that was read before would come from memory."""
    sizes = [path.stat().st_size for path in files]
    began, n_bytes = time.perf_counter(), 0
    for path in random.choices(files, sizes, k=SAMPLES):
        with path.open("rb", buffering=0) as file:
            file.seek(random.randrange(max(1, os.path.getsize(path) - SAMPLE)))
            n_bytes += len(file.read(SAMPLE))
    return n_bytes / (time.perf_counter() - began)


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(map(stored_bytes, tensors))


def _gb(nbytes: int) -> str:
    return f"{nbytes / 1e9:.1f} GB"


def _about(seconds: float) -> str:
    return f"about {max(1, seconds):,.0f} s"
