"""Faults between any two operations on a folder's files, by Python's audit events: no code is patched for them."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headlight.model.base.files import PART

CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate", "os.link", "os.symlink"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Killed(BaseException):
    """The process has ended here: nothing that it would still do to its files happens."""


class Faults:
    """Counts the changes in a folder, and lets the one of a number fail, or it and all that come after.

    Attributes:
        changes: what was done, or tried, so far.
    """

    def __init__(self, folder: Path, at: int | None = None, kills: bool = True) -> None:
        self._folder, self._at, self._kills = os.fspath(folder), at, kills
        self.changes = list[str]()

    def meet(self, event: str, values: tuple[Any, ...]) -> None:
        """Take note of an audit event, before what it announces is done."""
        is_change = event in CHANGES or (event == "open" and isinstance(values[2], int) and values[2] & WRITING)
        if not is_change or not str(values[0]).startswith(self._folder):
            return
        number = len(self.changes)
        self.changes.append(f"{event} {values[0]}")
        if self._at is None or number < self._at:
            return
        if self._kills:
            raise Killed
        if number == self._at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), values[0])


_current: Faults | None = None


def _watch(event: str, values: tuple[Any, ...]) -> None:
    if _current is not None:
        _current.meet(event, values)


@contextmanager
def faults(folder: Path, at: int | None = None, *, kills: bool = True) -> Iterator[Faults]:
    """Watch the changes of the folder inside the block, which ends there where it is killed.

    What was being written then is cut short by half.
    """
    global _current
    _current = watched = Faults(folder, at, kills)
    is_killed = False
    try:
        yield watched
    except Killed:
        is_killed = True
    finally:
        _current = None
    for part in folder.rglob(f".*{PART}") if is_killed else ():
        os.truncate(part, part.stat().st_size // 2)


sys.addaudithook(_watch)  # which cannot be taken away again
