"""bitsandbytes: 8 bits a number with a scale for each row, or 4 bits by a table with a scale for each block.

Source: Dettmers et al. 2022, "LLM.int8()"; Dettmers et al. 2023, "QLoRA"; bitsandbytes' QuantState for the names.
"""

import json
from functools import partial
from math import prod
from typing import Any

import torch
from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.checkpoints.quantization.scheme import NEXT_STEP, Parts, Scheme, Settings, quantised

STATES = (".quant_state.bitsandbytes__nf4", ".quant_state.bitsandbytes__fp4")
NESTED = (".nested_absmax", ".nested_quant_map")
MAX_STATE = 10_000  # bytes


def read_int8(parts: Parts, settings: Settings) -> Tensor:
    """A matrix of whole numbers, [out, in], whose rows' largest are 127."""
    weight = parts.matrix(".weight", torch.int8)
    scales = parts.check(".SCB", (len(weight),), torch.float32, torch.float16)
    return quantised((weight, scales), tuple(weight.shape), "int8 of bitsandbytes", _int8)


def _int8(stored: Tensor, scales: Tensor) -> Tensor:
    return stored.float() * (scales.float() / 127)[:, None]


def read_4bit(state: str, parts: Parts, settings: Settings) -> Tensor:
    """A matrix by blocks of all its numbers in a row, each number an entry of a table."""
    quant_state, stored = _state(parts, state), parts[""]
    (d_out, d_in), block = quant_state["shape"], quant_state["blocksize"]
    n_numbers, n_blocks = d_out * d_in, -(-d_out * d_in // block)
    is_right = stored.dtype == torch.uint8 and stored.numel() == -(-n_numbers // 2)
    parts.require(is_right, "", f"uint8, two numbers of {[d_out, d_in]} in each")
    table = parts.check(".quant_map", (16,), torch.float32)
    scales, scale = _scales(parts, quant_state, n_blocks)
    packed = stored.reshape(-1)
    if short := n_blocks * block // 2 - len(packed):  # what is missing of the last block
        packed = torch.cat([packed, packed.new_zeros(short)])
    kind = f"{state.rpartition('__')[2].upper()} of bitsandbytes"
    if "nested_blocksize" in quant_state:
        kind += ", double quantised"
    rows = packed.view(n_blocks, -1), torch.arange(n_blocks, dtype=torch.int32), scales
    matrix = quantised(rows, (n_blocks, block), kind, partial(_4bit, table, scale))
    return matrix.view(-1)[:n_numbers].view(d_out, d_in)


def _4bit(table: Tensor, scale: Any, stored: Tensor, blocks: Tensor, scales: Tensor) -> Tensor:
    codes = torch.stack([stored >> 4, stored & 15], -1).flatten(1)  # the first of two in the high bits
    return table[codes.int()] * scale(blocks, scales)[:, None]


def _scales(parts: Parts, quant_state: dict[str, Any], n_blocks: int) -> tuple[Tensor, Any]:
    """The blocks' stored scales, and the function that decodes them."""
    if "nested_blocksize" not in quant_state:
        return parts.check(".absmax", (n_blocks,), torch.float32), lambda blocks, scales: scales
    for end in NESTED:
        if parts.get(end) is None:
            raise CheckpointError(f"The folder holds {parts.stem} without {parts.stem}{end}. {NEXT_STEP}")
    scales, block = parts.check(".absmax", (n_blocks,), torch.uint8), quant_state["nested_blocksize"]
    largest = parts.check(".nested_absmax", (-(-n_blocks // block),), torch.float32)
    table = parts.check(".nested_quant_map", (256,), torch.float32)
    return scales, partial(_nested, table, largest, block, quant_state["nested_offset"])


def _nested(table: Tensor, largest: Tensor, block: int, offset: float, blocks: Tensor, scales: Tensor) -> Tensor:
    return table[scales.int()] * largest[blocks // block] + offset


def _state(parts: Parts, state: str) -> dict[str, Any]:
    """Quantization state of a matrix, stored beside it as JSON in bytes."""
    tensor = parts[state]
    parts.require(tensor.dtype == torch.uint8 and tensor.ndim == 1 and len(tensor) <= MAX_STATE, state, "JSON in bytes")
    try:
        quant_state = json.loads(bytes(tensor.tolist()))
        blocks = [name for name in ("blocksize", "nested_blocksize") if name in quant_state]
        shape, sizes = quant_state["shape"], [quant_state[name] for name in blocks]
        is_right = len(shape) == 2 and all(type(n) is int and 0 < n < 2**31 for n in (*shape, *sizes)) and sizes
        if "nested_blocksize" in quant_state:
            quant_state["nested_offset"] = float(quant_state["nested_offset"])
        if not is_right or prod(shape) > 2 * parts[""].numel() or any(size % 2 or size > 2**16 for size in sizes):
            raise ValueError("sizes that do not fit it")
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise CheckpointError(
            f"{parts.stem}{state} does not tell how {parts.stem} is quantised. {NEXT_STEP}"
        ) from error
    return dict(quant_state)


SCHEMES = (
    *(Scheme(state, ("", ".absmax", ".quant_map"), partial(read_4bit, state), NESTED, matrix="") for state in STATES),
    Scheme(".SCB", (".weight",), read_int8, unread=(".weight_format",)),
)
