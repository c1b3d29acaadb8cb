"""Files that are there whole or not at all."""

import os
from pathlib import Path

from headlight.model.errors import ScanError


def write_whole(path: Path, data: bytes) -> None:
    """Write a file beside its place, and then put it there.

    Raises:
        ScanError: the disk is full or the folder cannot be written to; what was there before is there still.
    """
    beside = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ScanError(
            f"{path.name} of {len(data):,} bytes cannot be written ({error.strerror or error}). Nothing that was "
            "finished is lost: make room, and give the same command again."
        ) from error
