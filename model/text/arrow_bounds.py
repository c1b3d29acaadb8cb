"""Bounds on the memory that Arrow's file formats take when read, which their size does not tell.

A page of a Parquet column is the least that is read at once: 33 KB of zstd can be a cell of a gigabyte. How long one
becomes stands in a header of its own, by which the reader allocates; the file's end only repeats it, and may lie.

Source: Parquet's format, PageHeader in parquet.thrift; Thrift's compact protocol; Arrow's Message.fbs.
"""

import io
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from headlight.model.base import memory
from headlight.model.base.errors import InputError
from headlight.model.base.files import open_file

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

MAX_PAGE = 2**26  # bytes; writers make pages of a megabyte, or of a thousand rows that are longer
MAX_GROWTH = 32  # times its bytes in the file that a longer page may have; texts have about four times
COPIES = 6  # of a page that are in memory while it is read
MAX_BATCH = 1024  # rows
HEADERS = (2**10, 2**16)  # bytes in which a page's header lies: nearly every one's, and any one's
MAX_PAGES = 2**20
UNCOMPRESSED, COMPRESSED = 2, 3  # numbers of the fields in a page's header
COMPRESSION = 3  # number of the field in an Arrow batch's
INSTEAD = "Write the table again with shorter row groups, or save its texts as a .jsonl file."


def rows_at_once(table: Path | bytes, file: "ParquetFile", column: str) -> int:
    """Number of rows of a Parquet text column that can be read at once: none is longer than the longest page.

    Raises:
        InputError: one of its pages is longer than any is read.
        ValueError: the file is damaged.
    """
    free, longest = memory.free(), 1
    with io.BytesIO(table) if isinstance(table, bytes) else open_file(table, InputError) as source:
        for group in range(file.metadata.num_row_groups):
            chunks = map(file.metadata.row_group(group).column, range(file.metadata.num_columns))
            for page, compressed in (page for chunk in chunks for page in _pages(source, chunk, column)):
                most = max(MAX_PAGE, MAX_GROWTH * compressed)
                if page > (most if free is None else min(most, free // COPIES)):
                    raise InputError(f"Its {column!r} has a page of {page:,} bytes, which is too much. {INSTEAD}")
                longest = max(longest, page)
    return max(1, min(MAX_BATCH, MAX_PAGE // longest))


def _pages(source: BinaryIO | io.BytesIO, chunk: Any, column: str) -> Iterator[tuple[int, int]]:
    """The bytes of a column's pages, and those that each has in the file; of a nested column those of its parts."""
    if chunk.path_in_schema != column and not chunk.path_in_schema.startswith(f"{column}."):
        return
    at = min(offset for offset in (chunk.dictionary_page_offset, chunk.data_page_offset) if offset)
    end = at + chunk.total_compressed_size
    for _ in range(MAX_PAGES):
        if at >= end:
            return
        length, fields = _header(source, at)
        compressed = fields.get(COMPRESSED, -1)
        if compressed < 0:
            raise ValueError("a page has no length")
        yield fields.get(UNCOMPRESSED, 0), compressed
        at += length + compressed
    raise ValueError("it has too many pages")


def _header(source: BinaryIO | io.BytesIO, at: int) -> tuple[int, dict[int, int]]:
    """A page's header: its length, and its numbers by their fields'."""
    for most in HEADERS:
        source.seek(at)
        try:
            return _struct(source.read(most), 0)
        except (IndexError, RecursionError):
            continue
    raise ValueError("a page's header is damaged")


def _struct(data: bytes, at: int) -> tuple[int, dict[int, int]]:
    """End of a Thrift struct, and its numbers."""
    numbers, field = dict[int, int](), 0
    while head := data[at]:
        at += 1
        if head >> 4:
            field += head >> 4
        else:
            at, field = _number(data, at)
        kind = head & 15
        if kind in (4, 5, 6):
            at, numbers[field] = _number(data, at)
        else:
            at = _end(data, at, kind)
    return at + 1, numbers


def _number(data: bytes, at: int) -> tuple[int, int]:
    """End of a zigzag varint, and its value."""
    at, value = _unsigned(data, at)
    return at, (value >> 1) ^ -(value & 1)


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return at, value


def _end(data: bytes, at: int, kind: int) -> int:
    """End of a value that is no number: a boolean (held in its type), a byte, a double, bytes, or a struct.

    Raises:
        ValueError: it is of a kind that no page's header has.
    """
    match kind:
        case 1 | 2:
            return at
        case 3:
            return at + 1
        case 7:
            return at + 8
        case 8:
            at, length = _unsigned(data, at)
            return at + length
        case 12:
            return _struct(data, at)[0]
    raise ValueError("a page's header is damaged")


def check_data_set(folder: Path) -> None:
    """Refuse a folder of `datasets` whose files are compressed, as that library writes none: it would inflate them.

    Raises:
        InputError: one is, or is damaged.
    """
    from pyarrow import ArrowException, OSFile
    from pyarrow.ipc import MessageReader

    for path in sorted(folder.rglob("*.arrow")):
        try:
            with open_file(path, InputError), OSFile(str(path)) as file:
                is_compressed = any(_is_compressed(message) for message in MessageReader.open_stream(file))
        except (ArrowException, OSError, ValueError, struct.error) as error:
            raise InputError(f"{path.name} cannot be read as Arrow's ({error}). Copy it again.") from error
        if is_compressed:
            raise InputError(
                f"{path.name} is compressed, as the datasets library writes none. Save it by save_to_disk."
            )


def _is_compressed(message: Any) -> bool:
    """Whether a message of Arrow's is a batch with the field that says how it is compressed."""
    data = bytes(message.metadata)
    root = _offset(data, 0, "I")
    header = _field(data, root, 2)
    if header is None or message.type not in ("record batch", "dictionary"):
        return False
    table = _offset(data, header, "I")
    if message.type == "dictionary":
        batch = _field(data, table, 1)
        if batch is None:
            return False
        table = _offset(data, batch, "I")
    return _field(data, table, COMPRESSION) is not None


def _offset(data: bytes, at: int, kind: str) -> int:
    """Target of a flatbuffer's pointer."""
    return at + int(struct.unpack_from(f"<{kind}", data, at)[0])


def _field(data: bytes, table: int, number: int) -> int | None:
    """Position of a field of a flatbuffer's table; None where the table lacks it."""
    fields = table - int(struct.unpack_from("<i", data, table)[0])
    place = 4 + 2 * number
    if struct.unpack_from("<H", data, fields)[0] <= place:
        return None
    at = int(struct.unpack_from("<H", data, fields + place)[0])
    return table + at if at else None
