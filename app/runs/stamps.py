"""Whether a model's files are still those that it was opened from."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from headlight.model.checkpoints.state_dicts import SUFFIXES

Stamp = tuple[int, int, int] | None
Stamps = Mapping[str, Stamp]


def stamps_of(paths: Iterable[Path]) -> Stamps:
    """Each file's size, time of change and inode, which tell a file that was written over from one put in its place."""
    return {os.path.realpath(path): _stamp(path) for path in paths}


def weights_at(path: Path) -> list[Path]:
    """The files at a model's path that may hold weights."""
    return sorted(file for file in path.glob("*") if file.suffix in SUFFIXES) if path.is_dir() else [path]


def changed(before: Stamps, now: Stamps) -> list[str]:
    """The names of the files whose stamps are others now, or that are gone; of those that both tell of."""
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
