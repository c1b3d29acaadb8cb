"""FP8: 8 bits a number, and a scale for a block of a matrix, for each of its rows or for all of it.

Source: DeepSeek-AI 2024, "DeepSeek-V3 Technical Report", section 3.3; transformers' integrations/finegrained_fp8.py.
"""

from functools import partial

import torch
from torch import Tensor

from headlight.model.checkpoints.quantization.packing import power_of_two
from headlight.model.checkpoints.quantization.scheme import FLOATS, Parts, Scheme, Settings, quantised

FP8 = (torch.float8_e4m3fn, torch.float8_e5m2)
SCALES = (*FLOATS, torch.float8_e8m0fnu, torch.uint8)


def read(scale: str, parts: Parts, settings: Settings) -> Tensor:
    """The matrix, [out, in], by its scale's name."""
    weight, scales = parts.matrix(".weight", *FP8), parts[scale]
    d_out, d_in = weight.shape
    grid = scales.view(1, 1) if scales.numel() == 1 else scales.unsqueeze(1) if scales.ndim == 1 else scales
    height, width = _block(grid, d_out, d_in, settings.get("weight_block_size"))
    fits = grid.ndim == 2 and tuple(grid.shape) == (-(-d_out // height), -(-d_in // width)) and grid.dtype in SCALES
    parts.require(fits, scale, f"a number, one of each of {d_out} rows or of each block of {[d_out, d_in]}")
    rows = torch.arange(d_out, dtype=torch.int32) // height
    kind = "FP8 in blocks" if height > 1 and grid.numel() > 1 else "FP8"
    return quantised(
        (weight.view(torch.uint8), rows), (d_out, d_in), kind, partial(_dequantise, weight.dtype, grid, width)
    )


def _block(grid: Tensor, d_out: int, d_in: int, declared: object) -> tuple[int, int]:
    """Rows and columns that share a scale: as declared, or as many as the scales divide the matrix into."""
    if grid.numel() > 1 and tuple(grid.shape) != (d_out, 1):
        match declared:
            case [int(height), int(width)] if height > 0 and width > 0:
                return height, width
    n_rows, n_columns = (max(1, n) for n in grid.shape[:2])
    return -(-d_out // n_rows), -(-d_in // n_columns)


def _dequantise(dtype: torch.dtype, grid: Tensor, width: int, stored: Tensor, rows: Tensor) -> Tensor:
    scales, numbers = _numbers(grid), stored.view(dtype).float()
    if grid.shape[1] == 1:
        return numbers * scales[rows]
    return numbers * scales[rows].repeat_interleave(width, 1)[:, : numbers.shape[1]]


def read_experts(parts: Parts, settings: Settings) -> Tensor:
    """The matrices of all experts, [expert, out, in], as transformers saves them: in blocks, or with a scale each."""
    weight, scales = parts["_proj"], parts["_proj_scale_inv"]
    is_right = weight.ndim == 3 and weight.numel() > 0 and weight.dtype in FP8
    parts.require(is_right, "_proj", "a matrix of FP8 of each expert")
    n_experts, d_out, d_in = weight.shape
    is_right = scales.ndim == 3 and len(scales) == n_experts and scales.numel() > 0 and scales.dtype in SCALES
    parts.require(is_right, "_proj_scale_inv", f"numbers for each of {n_experts} experts")
    height, width = _block(scales[0], d_out, d_in, settings.get("weight_block_size"))
    fits = tuple(scales.shape[1:]) == (-(-d_out // height), -(-d_in // width))
    parts.require(fits, "_proj_scale_inv", f"for each expert one of each block of {[d_out, d_in]}")
    kind = "FP8 in blocks" if scales[0].numel() > 1 else "FP8"
    dequantise = partial(_experts, weight.dtype, height, width)
    return quantised((weight.view(torch.uint8), scales), (n_experts, d_out, d_in), kind, dequantise)


def _experts(dtype: torch.dtype, height: int, width: int, stored: Tensor, scales: Tensor) -> Tensor:
    numbers = stored.view(dtype).float()
    of_rows = _numbers(scales).repeat_interleave(height, 1)[:, : numbers.shape[1]]
    return numbers * of_rows.repeat_interleave(width, 2)[..., : numbers.shape[2]]


def _numbers(scales: Tensor) -> Tensor:
    return power_of_two(scales) if scales.dtype == torch.uint8 else scales.float()


UNREAD = (".activation_scale", ".input_scale", ".input_scale_ub", ".output_scale", ".k_scale", ".v_scale")
SCHEMES = (
    *(
        Scheme(scale, (".weight",), partial(read, scale), unread=UNREAD)
        for scale in (".weight_scale_inv", ".weight_scale")
    ),
    Scheme("_proj_scale_inv", ("_proj",), read_experts, matrix="_proj"),
)
