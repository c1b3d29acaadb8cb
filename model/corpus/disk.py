"""Files of a scan that are there whole or not at all."""

from pathlib import Path

from headlight.model.base.errors import ScanError, WriteError
from headlight.model.base.files import write_bytes


def write_whole(path: Path, data: bytes) -> None:
    """Write a file beside its place, and then put it there.

    Raises:
        ScanError: the disk is full or the folder cannot be written to; what was there before is there still.
    """
    try:
        write_bytes(path, data)
    except WriteError as error:
        raise ScanError(str(error)) from error
