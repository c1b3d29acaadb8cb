"""Zip files whose entries are mapped where they lie, as numpy.savez and torch.save write them: stored, not compressed.

Nothing is allocated on a file's word: neither its directory nor an entry may be larger than what is read at once, and
an entry is as long as its bytes in the file.
"""

import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headlight.model.base.errors import CheckpointError
from headlight.model.base.files import check_regular, open_file

MAX_READ = 4 * 2**20  # bytes; a directory of 40,000 entries
LOCAL_HEADER = 30  # bytes of a zip's header before a file's name


class _BoundedFile(io.FileIO):
    """A file of which no more is read at once than `MAX_READ`, whatever a zip's end says of its directory."""

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(os.fstat(self.fileno()).st_size - self.tell(), 0)
        wanted = left if size is None or size < 0 else min(size, left)
        if wanted > MAX_READ:
            raise zipfile.BadZipFile(f"it would have {wanted:,} bytes read at once")
        return super().read(wanted) or b""


@contextmanager
def open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip file.

    Raises:
        BadZipFile: it is no zip, or damaged.
        CheckpointError: it is no regular file.
    """
    check_regular(path)
    with _BoundedFile(path) as file, zipfile.ZipFile(file) as archive:
        yield archive


def stored_bytes(path: Path, entry: zipfile.ZipInfo) -> tuple[int, int]:
    """Start and end of an entry's bytes, behind a local header with a name and extra field of its own.

    Raises:
        CheckpointError: the entry is compressed or encrypted, or the file is damaged there.
    """
    if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
        raise CheckpointError(
            f"{path.name} is compressed, so that its tensors cannot be mapped. Save it by numpy.savez or torch.save."
        )
    with open_file(path) as file:
        file.seek(entry.header_offset)
        header = file.read(LOCAL_HEADER)
    lengths = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
    begin = entry.header_offset + LOCAL_HEADER + sum(lengths)
    end = begin + entry.file_size
    if len(header) < LOCAL_HEADER or header[:4] != b"PK\x03\x04" or end > path.stat().st_size:
        raise CheckpointError(f"{path.name} is damaged where {entry.filename} begins. Copy or download it again.")
    return begin, end
