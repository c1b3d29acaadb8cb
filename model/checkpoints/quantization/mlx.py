"""MLX: whole numbers of 2 to 8 bits, with a scale and an offset for each group of a row.

Source: MLX's documentation of quantize and dequantize; mlx-lm's convert for config.json.
"""

from functools import partial

import torch
from torch import Tensor

from headlight.model.base.errors import ConfigError
from headlight.model.checkpoints.quantization.packing import BITS, scaled, unpack
from headlight.model.checkpoints.quantization.scheme import (
    FLOATS,
    OTHERWISE,
    Parts,
    Scheme,
    Settings,
    group_size,
    quantised,
    whole,
)


def read(parts: Parts, settings: Settings) -> Tensor:
    """The matrix, [out, in], or those of all experts, [expert, out, in]."""
    if isinstance(own := settings.get(parts.stem), dict):  # of this matrix alone
        settings = {**settings, **own}
    if (mode := settings.get("mode", "affine")) != "affine":
        raise ConfigError(f"The weights are quantised in MLX's mode {mode!r:.60}; read is affine. {OTHERWISE}")
    bits, size = whole(settings, "bits", BITS, 4), group_size(settings, 64)
    words = parts[".weight"]
    is_right = words.ndim in (2, 3) and words.numel() > 0 and words.dtype == torch.uint32
    parts.require(is_right, ".weight", "a matrix of uint32, or one of each expert")
    (*rows, n_words), d_in = words.shape, words.shape[-1] * 32 // bits
    parts.require(n_words * 32 % bits == 0, ".weight", f"rows of whole numbers of {bits} bits")
    parts.require(size is not None and d_in % size == 0, ".weight", f"rows that groups of {size} numbers divide")
    shape = (*rows, d_in // (size or d_in))
    scales, offsets = parts.check(".scales", shape, *FLOATS), parts.check(".biases", shape, *FLOATS)
    kind = f"MLX, {bits} bits"
    return quantised((words.view(torch.int32), scales, offsets), (*rows, d_in), kind, partial(_dequantise, bits))


def _dequantise(bits: int, words: Tensor, scales: Tensor, offsets: Tensor) -> Tensor:
    numbers = scaled(unpack(words, bits).float(), scales)
    return (numbers.unflatten(-1, (offsets.shape[-1], -1)) + offsets.float()[..., None]).flatten(-2)


SCHEMES = (Scheme(".scales", (".weight", ".biases"), read),)
