"""Reader of torch.save's files: no code in them is run, and no size in them is trusted.

`torch.load` keeps the first promise (`weights_only`) but not the second: a tensor of stride 0 is as large as its pickle
says, compressed entries are inflated, and a key can be a tuple of tuples that takes forever to hash.
"""

import io
import math
import pickle
import zipfile
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

import torch
from jaxtyping import UInt8
from torch import Tensor

from headlight.model.base import memory
from headlight.model.base.errors import CheckpointError, HeadlightError, TooLargeError
from headlight.model.base.file_copies import mappable
from headlight.model.base.files import open_file, refuse_pointer
from headlight.model.base.zip_files import open_zip, stored_bytes

# The opcodes that torch.save writes.
OPCODES = (
    pickle.PROTO + pickle.GLOBAL + pickle.REDUCE + pickle.BUILD + pickle.BINPERSID + pickle.STOP + pickle.MARK
    + pickle.EMPTY_TUPLE + pickle.TUPLE1 + pickle.TUPLE2 + pickle.TUPLE3 + pickle.TUPLE
    + pickle.EMPTY_LIST + pickle.APPEND + pickle.APPENDS + pickle.EMPTY_DICT + pickle.SETITEM + pickle.SETITEMS
    + pickle.NONE + pickle.NEWTRUE + pickle.NEWFALSE + pickle.BININT + pickle.BININT1 + pickle.BININT2 + pickle.LONG1
    + pickle.BINFLOAT + pickle.BINUNICODE + pickle.BINPUT + pickle.LONG_BINPUT + pickle.BINGET + pickle.LONG_BINGET
    + pickle.NEWOBJ
)  # fmt: skip
DTYPES = {
    "DoubleStorage": torch.float64,
    "FloatStorage": torch.float32,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
}
MAX_PICKLE = 2**20  # bytes, about 5,000 tensors'
MAX_AXES = 64  # of a tensor of torch's
ALIGNED = 64  # bytes that torch.save gives a tensor at least
MAX_USES = 4  # of a file's bytes by all its tensors: T5 names its one embedding four times
# Start of torch.save's files before 2020: the pickle of the format's number.
BEFORE_2020 = pickle.PROTO + b"\x02" + pickle.LONG1 + b"\x0al\xfc\x9cF\xf9 j\xa8P\x19" + pickle.STOP
COUNT = 8  # bytes before each storage in such a file


def read_torch(path: Path, *, shapes_only: bool = False) -> Any:
    """Read a file of torch.save with memory-mapped tensors; writing to one never reaches the file.

    With `shapes_only` nothing is copied (`file_copies`): nobody may look at a number.

    Raises:
        CheckpointError: the file is damaged or holds other objects.
        TooLargeError: it is in torch's format of before 2020, of which tensors are copied, and memory does not hold it.
    """
    refuse_pointer(path)
    try:
        if _is_of_before_2020(path):
            return _unpickled_from_stream(path, shapes_only)
        with open_zip(path) as archive:
            return _unpickled(path, archive, shapes_only)
    except HeadlightError:
        raise
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f"{path.name} cannot be read as a state dict: it holds other objects than tensors, such as a whole model "
            "that torch.save(model, path) wrote. Write it by torch.save(model.state_dict(), path)."
        ) from error
    except Exception as error:  # whatever a damaged pickle makes Python raise
        raise CheckpointError(
            f"{path.name} cannot be read as a state dict: it is cut short, or not what torch.save writes today. "
            "Copy or download it again, or write it by torch.save(model.state_dict(), path)."
        ) from error


def _unpickled(path: Path, archive: zipfile.ZipFile, shapes_only: bool) -> Any:
    entries = {entry.filename.partition("/")[2]: entry for entry in archive.infolist()}
    order = entries.get("byteorder")
    if order is not None and order.file_size < MAX_PICKLE and archive.read(order) != b"little":
        raise CheckpointError(f"{path.name} was written on a big-endian machine. Write it on a little-endian one.")
    if (described := entries["data.pkl"]).file_size > MAX_PICKLE:
        raise CheckpointError(
            f"{path.name} describes its tensors in more than {MAX_PICKLE:,} bytes. Save model.state_dict() alone."
        )
    stored_bytes(path, described)  # which refuses a compressed one
    mapped = _mapped(path, shapes_only)

    def storage(key: str, dtype: torch.dtype, _: int) -> Tensor:
        begin, end = stored_bytes(path, entries[f"data/{key}"])
        return _bytes_of(mapped, begin, end).view(dtype)

    return _Unpickler(io.BytesIO(archive.read(described)), storage, path).load()


def _mapped(path: Path, shapes_only: bool) -> torch.UntypedStorage:
    with nullcontext(path) if shapes_only else mappable(path) as at:
        mapped = torch.UntypedStorage.from_file(str(at), shared=False, nbytes=at.stat().st_size)
        return cast(torch.UntypedStorage, mapped)


def _bytes_of(mapped: torch.UntypedStorage, begin: int, end: int) -> UInt8[Tensor, " byte"]:
    return torch.empty(0, dtype=torch.uint8).set_(mapped[begin:end])


def _is_of_before_2020(path: Path) -> bool:
    with open_file(path) as file:
        return file.read(len(BEFORE_2020)) == BEFORE_2020


def _unpickled_from_stream(path: Path, shapes_only: bool) -> Any:
    """Contents of a file in torch's first format: pickles, the last of which lists storages, which follow in order.

    Their places are known at the end of it, so that what is made of them is unpickled twice. They may begin at any
    byte; those that do not begin where a number of their kind may are copied.

    Source: torch.serialization's _legacy_load.
    """
    size, free = path.stat().st_size, memory.free()
    if free is not None and size > free:
        raise TooLargeError(
            f"{path.name} is in torch's format of before 2020, which has to be read into memory: {size / 1e9:.1f} GB, "
            f"of which {free / 1e9:.1f} GB are free. Write it anew: torch.save(torch.load(path), path)."
        )
    with open_file(path) as file:
        described = io.BytesIO(file.read(MAX_PICKLE))
    declared: dict[str, tuple[torch.dtype, int]] = {}

    def declare(key: str, dtype: torch.dtype, numel: int) -> Tensor:
        declared[key] = dtype, numel
        if not 0 <= numel * dtype.itemsize <= size:
            raise CheckpointError(f"{path.name} declares more numbers than it holds. Copy or download it again.")
        return torch.empty(numel, dtype=dtype, device="meta")

    for _ in range(3):  # the format, its version, and the machine that wrote it
        about = _Unpickler(described, declare, path).load()
    if about.get("little_endian") is not True:
        raise CheckpointError(f"{path.name} was written on a big-endian machine. Write it on a little-endian one.")
    begin = described.tell()
    _Unpickler(described, declare, path).load()
    ends, at = dict[str, int](), 0
    keys = _Unpickler(described, declare, path).load()
    at = described.tell()
    for key in keys:
        dtype, numel = declared[key]
        at = ends[key] = at + COUNT + numel * dtype.itemsize
    if at > size:
        raise CheckpointError(f"{path.name} is cut short. Copy or download it again.")
    mapped = _mapped(path, shapes_only)

    def storage(key: str, dtype: torch.dtype, numel: int) -> Tensor:
        start = ends[key] - numel * dtype.itemsize
        values = _bytes_of(mapped, start, ends[key])
        return (values.clone() if start % dtype.itemsize else values).view(dtype)

    described.seek(begin)
    return _Unpickler(described, storage, path).load()


@dataclass(frozen=True)
class _Storage:
    values: Tensor


class Unread:
    """The place of an object that is no tensor, number, text, list or table: nothing of it is made or kept."""

    def __call__(self, *_: object) -> "Unread":
        return self

    def append(self, _: object) -> None:
        """Drop an item of what would be a list."""

    def extend(self, _: list[object]) -> None:
        """Drop several."""


UNREAD = Unread()


class _Unpickler(pickle._Unpickler):  # Python's own, in which each opcode is a method
    """A pickle of tensors by name, numbers, texts, lists and tuples of them; anything else is `Unread`."""

    stack: list[Any]
    pop_mark: Callable[[], list[Any]]

    def __init__(self, described: io.BytesIO, storage: Callable[[str, torch.dtype, int], Tensor], path: Path) -> None:
        super().__init__(described)
        self._storage, self._storages, self._path = storage, dict[str, _Storage](), path
        self._left = MAX_USES * path.stat().st_size

    def find_class(self, module: str, name: str) -> Any:
        if module == "torch" and name in DTYPES:
            return DTYPES[name]
        if module == "torch" and isinstance(dtype := vars(torch).get(name), torch.dtype):
            return dtype
        known: dict[tuple[str, str], Callable[..., Any]] = {
            ("collections", "OrderedDict"): lambda: {},
            ("torch._utils", "_rebuild_tensor_v2"): self._tensor,
            ("torch._utils", "_rebuild_parameter"): lambda tensor, *_: tensor,
            ("torch", "Size"): lambda size: size,
            ("torch", "device"): lambda *name: name,
        }
        return known.get((module, name), UNREAD)

    def persistent_load(self, pid: Any) -> _Storage:
        _, dtype, key, _, numel, *_ = pid
        if key not in self._storages:
            self._storages[key] = _Storage(self._storage(key, dtype, numel))
        return self._storages[key]

    def _tensor(
        self, storage: _Storage, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any
    ) -> Tensor:
        """A tensor that has no more values than there are in the file, whatever its strides."""
        values, numel = storage.values, math.prod(size[:MAX_AXES])
        self._left -= max(numel * values.itemsize, ALIGNED)
        if numel > len(values) or self._left < 0:
            raise CheckpointError(
                f"{self._path.name} has tensors of more values than the file holds, such as expanded ones. Save "
                "tensor.contiguous() of each."
            )
        return values.as_strided(size, stride, offset)

    def _new_object(self) -> None:
        del self.stack[-2:]  # a class and what it would be made of
        self.stack.append(UNREAD)

    def _set_item(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._set(self.stack[-1], [key], [value])

    def _set_items(self) -> None:
        items = self.pop_mark()
        self._set(self.stack[-1], items[::2], items[1::2])

    def _set(self, target: object, keys: list[Any], values: list[Any]) -> None:
        if target is UNREAD:
            return
        if type(target) is not dict or not all(type(key) in (str, int) for key in keys):
            raise pickle.UnpicklingError("values by something else than names")
        target.update(zip(keys, values, strict=True))

    def _leave_attributes(self) -> None:
        """Of a state dict these are the versions of its modules."""
        self.stack.pop()

    dispatch: ClassVar[dict[int, Any]] = {code: pickle._Unpickler.dispatch[code] for code in OPCODES} | {
        pickle.NEWOBJ[0]: _new_object,
        pickle.SETITEM[0]: _set_item,
        pickle.SETITEMS[0]: _set_items,
        pickle.BUILD[0]: _leave_attributes,
    }
