"""Directions kept in a folder by name: a file each, never over another one, removed only if it was kept like this."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

from headlight.model.base.errors import InputError
from headlight.model.base.files import remove, write_bytes
from headlight.model.directions.files import SAFE, SUFFIXES, metadata_of, safetensors_bytes
from headlight.model.runs.direction import Direction

KEPT = {"kept_by": "headlight"}  # in the metadata of a file that may be removed

_keeping = Lock()


def file_name(name: str) -> str:
    """The name of a direction's file."""
    stem = re.sub(r"[^\w-]+", "_", name).strip("_")[:80]
    return f"{stem or 'direction'}{SAFE}"


def keep_direction(direction: Direction, folder: str | Path) -> Path:
    """Write a direction into a folder under its name.

    Raises:
        InputError: there is a file of that name.
        WriteError: the folder cannot be written to.
    """
    path = Path(folder) / file_name(direction.name)
    data = safetensors_bytes(direction, KEPT)
    with _keeping:  # of two sessions that keep a name at once one is refused
        if os.path.lexists(path):
            raise InputError(
                f"There is already a file {path.name}, which is left as it is. Keep the direction by another name."
            )
        write_bytes(path, data)
    return path


def kept_files(folder: str | Path) -> Iterator[Path]:
    """The files of directions in a folder, by name; links and hidden files are left out."""
    path = Path(folder)
    for name in sorted(os.listdir(path)) if path.is_dir() else ():
        file = path / name
        if file.suffix.lower() in SUFFIXES and not name.startswith(".") and file.is_file() and not file.is_symlink():
            yield file


def is_kept(path: Path) -> bool:
    """Whether a file was written by `keep_direction`, and not by anybody else."""
    return path.suffix == SAFE and KEPT.items() <= metadata_of(path).items()


def remove_kept(path: Path) -> None:
    """Remove a file that `keep_direction` wrote.

    Raises:
        InputError: it was written by somebody else.
        WriteError: it cannot be removed.
    """
    if not is_kept(path):
        raise InputError(f"{path.name} was not kept by Headlight, and is not removed here. Remove it by hand.")
    remove(path)
