"""Read the header of a GGUF file: its metadata, and where its tensors lie.

Nothing is allocated on the file's word: a list is as long as there are bytes for it, and no tensor reaches beyond the
end or over another.

Source: ggml's docs/gguf.md.
"""

import mmap
import struct
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

from headlight.model.base.errors import CheckpointError
from headlight.model.base.files import open_file, reason, refuse_pointer

MAGIC, VERSIONS = b"GGUF", (2, 3)
MAX_ITEMS = 2**21  # of all lists and tables together; a vocabulary of today has 262,144 tokens and 500,000 merges
MAX_AXES = 4
DEFAULT_ALIGNMENT, MAX_ALIGNMENT = 32, 2**20
STRING, ARRAY = 8, 9
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
SUFFIX = ".gguf"


@dataclass(frozen=True)
class TensorPlace:
    """A tensor's shape, last axis innermost as torch has it, its type by ggml's name, and its bytes in the file."""

    shape: tuple[int, ...]
    kind: str
    begin: int
    end: int


@dataclass(frozen=True)
class Header:
    """A file's metadata and its tensors' places, both by name."""

    metadata: dict[str, Any]
    tensors: dict[str, TensorPlace]

    @property
    def architecture(self) -> str:
        """Name of the model's architecture in llama.cpp."""
        return str(self.metadata.get("general.architecture"))

    def setting(self, name: str, default: Any = None) -> Any:
        """Value of a setting of the architecture in the metadata."""
        return self.metadata.get(f"{self.architecture}.{name}", default)


def is_gguf(path: Path) -> bool:
    """Whether a path is a GGUF file: by its first bytes, for Ollama's have no suffix, or by its suffix."""
    if not path.is_file():
        return False
    if path.suffix.lower() == SUFFIX:
        return True
    try:
        with open_file(path) as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read_header(path: Path) -> Header:
    """Read a file's header, or return it as it was read before.

    Raises:
        CheckpointError: the file is damaged, of another version, or the package gguf is not installed.
    """
    refuse_pointer(path)
    try:
        state = path.stat()
        return _read(path, state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise CheckpointError(f"{path.name} cannot be read ({reason(error, path)}).") from error


@lru_cache(maxsize=8)  # of a model in parts, which are read one after the other several times
def _read(path: Path, _: int, size: int) -> Header:
    with open_file(path) as file:
        if size < 24:
            raise CheckpointError(f"{path.name} is cut short. Copy or download it again.")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            try:
                return _Reader(data, size).header()
            except (struct.error, UnicodeDecodeError, _DamageError) as error:
                raise CheckpointError(
                    f"{path.name} cannot be read as GGUF ({error}). Copy or download it again."
                ) from error


class _DamageError(Exception):
    """The file's header contradicts its contents."""


class _Reader:
    """Reads values one after the other."""

    def __init__(self, data: mmap.mmap, size: int) -> None:
        self._data, self._size, self._at, self._items = data, size, 0, 0

    def header(self) -> Header:
        if self._take(4) != MAGIC:
            raise _DamageError("it does not begin as one")
        version, n_tensors, n_values = self._numbers("IQQ")
        if version not in VERSIONS:
            raise _DamageError(f"it is of version {version}, and known are {' and '.join(map(str, VERSIONS))}")
        self._count(n_values, 13)
        metadata = {self._string(): self._value() for _ in range(n_values)}
        self._count(n_tensors, 24)
        entries = [self._entry() for _ in range(n_tensors)]
        alignment = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
        if type(alignment) is not int or not 0 < alignment <= MAX_ALIGNMENT:
            raise _DamageError(f"its alignment is {alignment}")
        start = -(-self._at // alignment) * alignment
        tensors = {name: self._place(name, start, shape, kind, offset) for name, shape, kind, offset in entries}
        if len(tensors) < len(entries):
            raise _DamageError("it names a tensor twice")
        if sum(place.end - place.begin for place in tensors.values()) > self._size:
            raise _DamageError("its tensors lie over one another")
        return Header(metadata, tensors)

    def _entry(self) -> tuple[str, tuple[int, ...], int, int]:
        name = self._string()
        (n_axes,) = self._numbers("I")
        if not 0 < n_axes <= MAX_AXES:
            raise _DamageError(f"{name} has {n_axes} axes")
        shape = tuple(reversed(self._numbers(f"{n_axes}Q")))
        kind, offset = self._numbers("IQ")
        return name, shape, kind, offset

    def _place(self, name: str, start: int, shape: tuple[int, ...], kind: int, offset: int) -> TensorPlace:
        constants = package().constants
        try:
            called = constants.GGMLQuantizationType(kind)
        except ValueError as error:
            raise _DamageError(f"{name} is of type {kind}, which the installed package gguf does not know") from error
        in_block, block = constants.GGML_QUANT_SIZES[called]
        n_bytes = prod(shape) // in_block * block
        if not n_bytes or shape[-1] % in_block or start + offset + n_bytes > self._size:
            raise _DamageError(f"{name}, {list(shape)} of {called.name}, reaches beyond its end")
        return TensorPlace(shape, called.name, start + offset, start + offset + n_bytes)

    def _value(self) -> Any:
        (kind,) = self._numbers("I")
        if kind == STRING:
            return self._string()
        if kind in SCALARS:
            return self._numbers(SCALARS[kind])[0]
        if kind != ARRAY:
            raise _DamageError(f"a value is of type {kind}")
        inner, length = self._numbers("IQ")
        if inner == STRING:
            self._count(length, 8)
            return [self._string() for _ in range(length)]
        if inner not in SCALARS:
            raise _DamageError(f"a list is of type {inner}")
        self._count(length, struct.calcsize(SCALARS[inner]))
        return list(self._numbers(f"{length}{SCALARS[inner]}"))

    def _count(self, number: int, n_bytes: int) -> None:
        """Count items of at least this many bytes each before they are read."""
        self._items += number
        if self._items > MAX_ITEMS or number * n_bytes > self._size - self._at:
            raise _DamageError(f"it lists {number} things, more than it holds or any model has")

    def _string(self) -> str:
        (length,) = self._numbers("Q")
        return self._take(length).decode("utf-8")

    def _numbers(self, kinds: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{kinds}", self._take(struct.calcsize(f"<{kinds}")))

    def _take(self, n_bytes: int) -> bytes:
        if n_bytes > self._size - self._at:
            raise _DamageError("it is cut short")
        self._at += n_bytes
        return self._data[self._at - n_bytes : self._at]


def package() -> Any:
    """The package gguf, which knows ggml's types.

    Raises:
        CheckpointError: it is not installed.
    """
    try:
        import gguf
    except ImportError as error:
        raise CheckpointError(
            'GGUF files need the package gguf: pip install "headlight[gguf]", or pip install gguf.'
        ) from error
    return gguf
