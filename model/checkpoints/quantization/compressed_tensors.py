"""compressed-tensors, as llm-compressor writes them: packed whole numbers, int8, FP8, or FP4 in blocks of 16.

Source: compressed-tensors' compressors, and its QuantizationArgs for config.json.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from headlight.model.base.errors import CheckpointError, ConfigError
from headlight.model.checkpoints.quantization import fp8, mxfp4
from headlight.model.checkpoints.quantization.packing import fp4, power_of_two, scaled, unpack
from headlight.model.checkpoints.quantization.scheme import (
    FLOATS,
    NEXT_STEP,
    OTHERWISE,
    Parts,
    Scheme,
    Settings,
    quantised,
)

FORMATS = (
    *("pack-quantized", "int-quantized", "float-quantized", "naive-quantized", "nvfp4-pack-quantized"),
    *("mxfp4-pack-quantized", "mixed-precision", "dense"),
)
PACKED, ZEROS, GROUPS = ".weight_packed", ".weight_zero_point", ".weight_g_idx"
WHOLE = (torch.int8, torch.int32, torch.int64)
FP4_GROUP = 16


def check_formats(settings: Settings) -> None:
    """Refuse formats that are not read.

    Raises:
        ConfigError: there is one.
    """
    sparsity: Any = settings.get("sparsity_config") or {}
    sparse = sparsity.get("format", "dense") if isinstance(sparsity, dict) else sparsity
    for name in (settings.get("format", "dense"), sparse):
        if name not in FORMATS:
            read = ", ".join(FORMATS[:6])
            raise ConfigError(f"The weights are compressed as {name!r:.60}; read are {read}. {OTHERWISE}")


def read_packed(parts: Parts, settings: Settings) -> Tensor:
    """The matrix, [out, in], of whole numbers in words, or of FP4 numbers in bytes."""
    if parts[PACKED].dtype == torch.uint8:
        return _read_fp4(parts)
    words, d_out, d_in, bits = _packed(parts, settings)
    scales = parts.matrix(".weight_scale", *FLOATS)
    zeros, groups = parts.get(ZEROS), parts.get(GROUPS)
    n_groups = scales.shape[1]
    parts.require(
        len(scales) == d_out and (groups is not None or d_in % n_groups == 0),
        ".weight_scale",
        f"scales of {d_out} rows in groups that divide {d_in}",
    )
    if zeros is not None:
        parts.check(ZEROS, (-(-d_out * bits // 32), n_groups), torch.int32)
    if groups is not None:
        parts.check(GROUPS, (d_in,), *WHOLE)
        parts.require(int(groups.min()) >= 0 and int(groups.max()) < n_groups, GROUPS, f"from 0 to {n_groups - 1}")
    kind, dequantise = f"compressed-tensors, {bits} bits", partial(_whole, bits, d_in, zeros, groups)
    return quantised((words, scales, torch.arange(d_out, dtype=torch.int32)), (d_out, d_in), kind, dequantise)


def _packed(parts: Parts, settings: Settings) -> tuple[Tensor, int, int, int]:
    """The words, the matrix's shape, and the bits of a number: those of a group of settings that fit the words."""
    words, shape = parts.matrix(PACKED, torch.int32), parts.get(".weight_shape")
    if shape is None:
        raise CheckpointError(f"The folder holds {parts.stem}{PACKED} without {parts.stem}.weight_shape. {NEXT_STEP}")
    parts.require(shape.numel() == 2 and shape.dtype in WHOLE, ".weight_shape", "two whole numbers")
    d_out, d_in = map(int, shape.flatten().tolist())
    fitting = {bits for bits in _bits(settings) if words.shape == (d_out, -(-d_in * bits // 32))}
    parts.require(len(fitting) == 1, PACKED, f"{[d_out, d_in]} of as many bits as config.json says")
    return words, d_out, d_in, fitting.pop()


def _bits(settings: Settings) -> set[int]:
    return {each["num_bits"] for each in _of_weights(settings) if each.get("num_bits") in (2, 4, 8)}


def _of_weights(settings: Settings) -> list[dict[str, Any]]:
    """Weight settings of each group of modules."""
    groups: Any = settings.get("config_groups")
    of_groups = groups.values() if isinstance(groups, dict) else ()
    weights = [group.get("weights") for group in of_groups if isinstance(group, dict)]
    return [each for each in weights if isinstance(each, dict)]


def _whole(
    bits: int, d_in: int, packed: Tensor | None, groups: Tensor | None, words: Tensor, scales: Tensor, rows: Tensor
) -> Tensor:
    numbers, middle = unpack(words, bits)[:, :d_in].float(), 2 ** (bits - 1)
    zeros = torch.full_like(scales, middle, dtype=torch.float32) if packed is None else _zeros(bits, packed, rows)
    if groups is not None:
        return (numbers - zeros[:, groups.long()]) * scales.float()[:, groups.long()]
    return scaled((numbers.unflatten(1, (zeros.shape[1], -1)) - zeros[:, :, None]).flatten(1), scales)


def _zeros(bits: int, packed: Tensor, rows: Tensor) -> Tensor:
    """The zeros of some rows, [row, group], of which several rows' lie in a word."""
    in_word = 32 // bits
    words = packed[rows // in_word]
    return ((words >> (rows % in_word * bits)[:, None].int()) & (2**bits - 1)).float()


def _read_fp4(parts: Parts) -> Tensor:
    packed, whole = parts.matrix(PACKED, torch.uint8), parts.get(".weight_global_scale")
    d_out, d_in = len(packed), 2 * packed.shape[1]
    if whole is None:
        parts.require(d_in % mxfp4.BLOCK == 0, PACKED, f"rows that groups of {mxfp4.BLOCK} divide")
        scales = parts.check(".weight_scale", (d_out, d_in // mxfp4.BLOCK), torch.uint8)
        return quantised((packed, scales), (d_out, d_in), "MXFP4", _mxfp4)
    scales = parts.check(".weight_scale", (d_out, d_in // FP4_GROUP), torch.float8_e4m3fn)
    parts.require(whole.numel() == 1 and whole.dtype in FLOATS, ".weight_global_scale", "a number")
    parts.require(d_in % FP4_GROUP == 0, PACKED, f"rows that groups of {FP4_GROUP} divide")
    return quantised((packed, scales.view(torch.uint8)), (d_out, d_in), "NVFP4", partial(_fp4, whole.reshape(())))


def _mxfp4(packed: Tensor, scales: Tensor) -> Tensor:
    return scaled(fp4(packed), power_of_two(scales))


def _fp4(whole: Tensor, packed: Tensor, scales: Tensor) -> Tensor:
    return scaled(fp4(packed), scales.view(torch.float8_e4m3fn).float() / whole.float())


def read_scaled(parts: Parts, settings: Settings) -> Tensor:
    """The matrix, [out, in], of int8 or FP8 numbers."""
    if parts[".weight"].dtype != torch.int8:
        return fp8.read(".weight_scale", parts, {**settings, **_block(settings)})
    weight, scales = parts.matrix(".weight", torch.int8), parts[".weight_scale"]
    d_out, d_in = weight.shape
    scales = scales.reshape(1, 1).expand(d_out, 1) if scales.numel() == 1 else scales
    fits = scales.ndim == 2 and len(scales) == d_out and d_in % scales.shape[1] == 0 and scales.dtype in FLOATS
    parts.require(fits, ".weight_scale", f"a number, or scales of {d_out} rows in groups that divide {d_in}")
    zeros = parts.get(ZEROS)
    if zeros is None:
        return quantised((weight, scales), (d_out, d_in), "compressed-tensors, int8", lambda q, s: scaled(q.float(), s))
    zeros = zeros.reshape(1, 1).expand(d_out, 1) if zeros.numel() == 1 else zeros
    parts.require(
        zeros.shape == scales.shape and zeros.dtype in WHOLE, ZEROS, f"a zero for each of {list(scales.shape)}"
    )
    return quantised((weight, scales, zeros), (d_out, d_in), "compressed-tensors, int8", _int8)


def _int8(stored: Tensor, scales: Tensor, zeros: Tensor) -> Tensor:
    groups = stored.float().unflatten(1, (zeros.shape[1], -1))
    return scaled((groups - zeros.float()[:, :, None]).flatten(1), scales)


def _block(settings: Settings) -> dict[str, Any]:
    """The blocks that share a scale, where the settings name just one kind."""
    weights = _of_weights(settings)
    return {"weight_block_size": weights[0].get("block_structure")} if len(weights) == 1 else {}


UNREAD = (*fp8.UNREAD, ".input_zero_point", ".input_global_scale")
SCHEMES = (
    Scheme(
        PACKED,
        (".weight_scale",),
        read_packed,
        (".weight_shape", ZEROS, GROUPS, ".weight_global_scale"),
        unread=UNREAD,
    ),
    Scheme(".weight_scale", (".weight",), read_scaled, (ZEROS,)),
)
