"""Copies of files in memory that the processes of one server share, all of them started by the same parent.

A copy is a sealed file in memory whose name tells the file and its version. A process keeps its copies open as long as
it maps them, and the others open them through /proc; where the system does not let them, each has a copy of its own.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock

if sys.platform == "linux":  # which alone has files in memory without a name
    import fcntl

    SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
POLL = 0.05  # seconds
PROCESSES, OWN_FILES, MAPS = Path("/proc"), Path("/proc/self/fd"), Path("/proc/self/maps")

_kept, _keeping = dict[str, int](), Lock()  # descriptors by the copies' names


def name_of(path: Path) -> str:
    """Name of a file's copy, which is another when the file is written to or replaced."""
    at = os.stat(path)
    version = os.path.realpath(path), at.st_dev, at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns
    return sha256(repr(version).encode()).hexdigest()


def seal(descriptor: int) -> None:
    """Have nobody change a copy any more."""
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)


def find(name: str) -> int | None:
    """A new descriptor of a whole copy with this name in one of the processes; None if there is none.

    Waits while another process makes it.
    """
    while (descriptor := _opened(name)) is not None:
        if fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) == SEALS:
            return descriptor
        os.close(descriptor)
        time.sleep(POLL)
    return None


def _opened(name: str) -> int | None:
    for folder in (OWN_FILES, *_siblings()):
        with suppress(OSError):  # it has ended, or is another user's
            for number in os.listdir(folder):
                with suppress(OSError):  # closed meanwhile
                    if os.readlink(folder / number) == f"/memfd:{name} (deleted)":
                        return os.open(folder / number, os.O_RDONLY | os.O_CLOEXEC)
    return None


def _siblings() -> Iterator[Path]:
    parent = f"{os.getppid()}"
    with suppress(OSError):
        for process in (PROCESSES / parent / "task" / parent / "children").read_text().split():
            if int(process) != os.getpid():
                yield PROCESSES / process / "fd"


def keep(name: str, descriptor: int) -> None:
    """Keep a descriptor of a copy open for the others as long as this process maps it."""
    with _keeping:
        before, _kept[name] = _kept.get(name), descriptor
    if before is not None:
        os.close(before)


def drop_unmapped() -> None:
    """Close what this process maps no longer, as of a model that was closed: what is open takes memory."""
    with _keeping:
        maps = MAPS.read_text() if _kept else ""
        for name in [name for name in _kept if name not in maps]:
            os.close(_kept.pop(name))
