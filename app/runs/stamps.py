"""Whether a model's files are still those that it was opened from."""

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from headlight.model.checkpoints.state_dicts import SUFFIXES

QUIET_SECONDS = 1.0  # after which nobody is writing to a file any more
MAX_WAITS = 10
Stamp = tuple[int, int, int] | None
Stamps = Mapping[str, Stamp]


def stamps_of(paths: Iterable[Path]) -> Stamps:
    """Each file's size, time of change and inode, which tell a file that was written over from one put in its place."""
    return {os.path.realpath(path): _stamp(path) for path in paths}


def settled_stamps_of(paths: Iterable[Path]) -> Stamps:
    """Return the stamps as soon as no file was written to for a second, or after ten.

    Of a file that is being written over, what is new and what is old together look like a whole one.
    """
    paths = list(paths)
    for _ in range(MAX_WAITS):
        stamps = stamps_of(paths)
        newest = max((stamp[1] / 1e9 for stamp in stamps.values() if stamp), default=0.0)
        if not 0 <= (age := time.time() - newest) < QUIET_SECONDS:
            break
        time.sleep(QUIET_SECONDS - age)
    return stamps_of(paths)


def weights_at(path: Path) -> list[Path]:
    """The files at a model's path that may hold weights."""
    return sorted(file for file in path.glob("*") if file.suffix in SUFFIXES) if path.is_dir() else [path]


def changed(before: Stamps, now: Stamps) -> list[str]:
    """Names of the files whose stamps have changed, or that are gone, of those in both."""
    return [os.path.basename(path) for path, stamp in now.items() if before.get(path, stamp) != stamp]


def changed_on_disk(before: Stamps) -> list[str]:
    """The names of the files whose stamps are others by now, or that are gone."""
    return changed(before, stamps_of(map(Path, before)))


def _stamp(path: Path) -> Stamp:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino
