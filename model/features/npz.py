"""Reader of numpy's .npz that runs no code from it; arrays are memory-mapped.

An .npz is a zip of .npy files; those that are stored as they are, as numpy.savez writes them, lie there in one piece.
"""

import zipfile
from pathlib import Path

import numpy as np
import torch
from numpy.lib import format as npy
from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.base.file_copies import mappable
from headlight.model.base.files import reason, refuse_pointer
from headlight.model.base.zip_files import open_zip, stored_bytes

MAX_ARRAYS = 64


def read_npz(path: Path) -> dict[str, Tensor]:
    """The arrays of an .npz file, all of them views of its memory map.

    The map is private: writing to a tensor never reaches the file.

    Raises:
        CheckpointError: the file is missing or damaged, or an array is compressed or not made of floats.
    """
    refuse_pointer(path)
    try:
        with mappable(path) as at, open_zip(path) as archive:
            entries = archive.infolist()
            if len(entries) > MAX_ARRAYS:
                raise CheckpointError(f"{path.name} holds {len(entries)} arrays; a dictionary has a few.")
            return {entry.filename.removesuffix(".npy"): _mapped(path, at, archive, entry) for entry in entries}
    except CheckpointError:
        raise
    except Exception as error:  # whatever a damaged header makes zipfile or numpy raise
        raise CheckpointError(
            f"{path.name} cannot be read as .npz ({reason(error, path)}). Copy or download it again."
        ) from error


def _mapped(path: Path, at: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Tensor:
    begin, end = stored_bytes(path, entry)
    with archive.open(entry) as file:
        version = npy.read_magic(file)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read_header(file)
        header = file.tell()
    if dtype not in (np.float32, np.float16):
        raise CheckpointError(f"{entry.filename} in {path.name} is {dtype}; it has to be float32 or float16.")
    size = int(np.prod([int(each) for each in shape], dtype=object)) * dtype.itemsize
    begin += header
    if size != end - begin:
        raise CheckpointError(f"{entry.filename} in {path.name} is cut short. Copy or download the file again.")
    if not size:
        return torch.zeros(shape)
    array = np.memmap(at, dtype, mode="c", offset=begin, shape=shape, order="F" if fortran else "C")
    return torch.from_numpy(array)
