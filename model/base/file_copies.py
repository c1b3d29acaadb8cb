"""Copies in memory of weight files that another process may write to while a model is open.

Of a file that is mapped and cut short the process is ended by the system (SIGBUS), and of one that is written over a
model's numbers change; nothing that this process does keeps that from happening. A server has its models' files copied
(`copy_files`); a script, which nobody else depends on, has them mapped, of which nothing is read before it is needed.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headlight.model.base import memory, shared_copies
from headlight.model.base.files import open_file

ASSETS = Path(__file__).resolve().parents[2] / "assets"
MAX_SHARE = 2  # what is larger than free memory divided by this stays mapped
BLOCK = 2**26  # bytes

_copies = _shares = False


def copy_files(shared: bool = False) -> None:
    """From now on copy files into memory in this process, except those of the project itself.

    Args:
        shared: whether the processes that have the same parent share their copies (`shared_copies`).
    """
    global _copies, _shares
    _copies = sys.platform == "linux"  # which alone has files in memory without a name
    _shares = _copies and shared


def drop_unmapped_copies() -> None:
    """Close the shared copies that this process maps no longer."""
    if _shares:
        shared_copies.drop_unmapped()


def is_copying() -> bool:
    """Whether files are copied in this process."""
    return _copies


@contextmanager
def mappable(path: Path) -> Iterator[Path]:
    """Give a path to map in the place of a file's: of a copy in memory, or its own where it is not to be copied.

    Maps of the copy outlive the block. A file that becomes shorter meanwhile has a copy that is cut short.

    Raises:
        OSError: the file cannot be read, or there is no memory for it.
    """
    if not _is_copied(path):
        yield path
        return
    drop_unmapped_copies()
    name = shared_copies.name_of(path)
    descriptor = shared_copies.find(name) if _shares else None
    if descriptor is None:
        descriptor = _sealed_copy(path, name)
    try:
        yield shared_copies.OWN_FILES / f"{descriptor}"
    finally:
        if _shares:
            shared_copies.keep(name, descriptor)
        else:
            os.close(descriptor)


def _sealed_copy(path: Path, name: str) -> int:
    """Descriptor of a copy in memory that nobody can change."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with open_file(path) as file:
            _copy(file.fileno(), descriptor)
        shared_copies.seal(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _copy(source: int, target: int) -> None:
    """Copy a file's data and leave its holes, which take no memory either."""
    at, size = 0, os.fstat(source).st_size
    while at < size:
        try:
            at = os.lseek(source, at, os.SEEK_DATA)
        except OSError:  # there is a hole up to the end
            break
        hole = os.lseek(source, at, os.SEEK_HOLE)
        os.lseek(target, at, os.SEEK_SET)
        while at < hole and (sent := os.sendfile(target, source, at, min(BLOCK, hole - at))):
            at += sent
        if at < hole:
            break
    os.ftruncate(target, min(size, os.fstat(source).st_size))


def _is_copied(path: Path) -> bool:
    """Files of the hub's cache have their content's hash for a name: they are written once, beside, and moved there."""
    at = Path(os.path.realpath(path))
    if not _copies or ASSETS in at.parents or at.parent.name == "blobs":
        return False
    free = memory.free()
    return free is None or path.stat().st_size <= free // MAX_SHARE
