"""A GGUF file's tensors: floats as views of the mapped file, everything else quantised as it lies there."""

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import torch
from jaxtyping import Float32, UInt8
from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.base.file_copies import mappable
from headlight.model.base.files import reason
from headlight.model.checkpoints.gguf.header import TensorPlace, package, read_header
from headlight.model.compute.quantised import Quantised, Storage

FLOATS = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F64": torch.float64}
WHOLE = {"I8": torch.int8, "I16": torch.int16, "I32": torch.int32, "I64": torch.int64}


def read_tensors(path: Path, *, shapes_only: bool = False) -> dict[str, Tensor]:
    """The tensors of a file by the names that they have in it.

    A file that cannot be mapped is copied first (`file_copies`), except with `shapes_only`: the values of those tensors
    must not be read.

    Raises:
        CheckpointError: the file is damaged or cannot be read, or the package gguf is not installed.
    """
    header = read_header(path)
    try:
        with nullcontext(path) if shapes_only else mappable(path) as at:
            mapped = cast(
                torch.UntypedStorage,
                torch.UntypedStorage.from_file(str(at), shared=False, nbytes=at.stat().st_size),
            )
    except OSError as error:
        raise CheckpointError(f"{path.name} cannot be read ({reason(error, path)}).") from error
    return {name: _tensor(mapped, place) for name, place in header.tensors.items()}


def _tensor(mapped: torch.UntypedStorage, place: TensorPlace) -> Tensor:
    raw = torch.empty(0, dtype=torch.uint8).set_(mapped[place.begin : place.end])
    if dtype := (FLOATS | WHOLE).get(place.kind):
        return (raw.clone() if place.begin % dtype.itemsize else raw).view(dtype).view(place.shape)
    return _quantised(raw, place)


def _quantised(raw: Tensor, place: TensorPlace) -> Tensor:
    shape = place.shape if len(place.shape) > 1 else (1, *place.shape)
    storage = Storage((raw.view(*shape[:-1], -1),), shape, place.kind, partial(_dequantise, place.kind))
    return Quantised(storage).view(place.shape) if shape != place.shape else Quantised(storage)


def _dequantise(kind: str, rows: UInt8[Tensor, "*row byte"]) -> Float32[Tensor, "*row number"]:
    gguf = package()
    with np.errstate(all="ignore"):  # what is not finite is refused when all of it is there
        numbers = gguf.dequantize(rows.numpy(), gguf.GGMLQuantizationType[kind])
    return torch.from_numpy(np.ascontiguousarray(numbers, dtype=np.float32))
