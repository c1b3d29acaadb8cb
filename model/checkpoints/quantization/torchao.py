"""torchao as transformers saves it: whole numbers or FP8 of 8 bits, with a scale for each group of a row.

Source: torchao's Int8Tensor and Float8Tensor, and its prototype.safetensors for the names.
"""

from functools import partial

import torch
from torch import Tensor

from headlight.model.checkpoints.quantization.fp8 import FP8
from headlight.model.checkpoints.quantization.packing import scaled
from headlight.model.checkpoints.quantization.scheme import FLOATS, OTHERWISE, Parts, Scheme, Settings, quantised

DATA, SCALE, ZERO = "._weight_qdata", "._weight_scale", "._weight_zero_point"


def read(parts: Parts, settings: Settings) -> Tensor:
    """The matrix, [out, in]."""
    data, scales, zeros = parts[DATA], parts[SCALE], parts.get(ZERO)
    is_right = data.ndim == 2 and data.numel() > 0 and data.dtype in (torch.int8, *FP8)
    parts.require(is_right, DATA, "a matrix of int8 or FP8, which of torchao's are read", OTHERWISE)
    (d_out, d_in), n_groups = data.shape, scales.shape[-1] if scales.ndim == 2 else 0
    parts.require(n_groups > 0 and d_in % n_groups == 0, SCALE, f"numbers for each of {d_out} rows")
    parts.check(SCALE, (d_out, n_groups), *FLOATS)
    if zeros is not None:
        parts.check(ZERO, (d_out, n_groups), torch.int8)
    is_int8 = data.dtype == torch.int8
    rows = (data if is_int8 else data.view(torch.uint8), scales, torch.zeros_like(scales) if zeros is None else zeros)
    dequantise = partial(_dequantise, data.dtype, n_groups)
    return quantised(rows, (d_out, d_in), f"torchao, {'int8' if is_int8 else 'FP8'}", dequantise)


def _dequantise(dtype: torch.dtype, n_groups: int, stored: Tensor, scales: Tensor, zeros: Tensor) -> Tensor:
    groups = stored.view(dtype).float().unflatten(1, (n_groups, -1))
    return scaled((groups - zeros.float()[..., None]).flatten(1), scales)


SCHEMES = (Scheme(DATA, (SCALE,), read, (ZERO,)),)
