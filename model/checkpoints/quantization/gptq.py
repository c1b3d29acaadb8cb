"""GPTQ: whole numbers of 2 to 8 bits, with a scale and a zero for each output and group of inputs.

Source: Frantar et al. 2022, "GPTQ"; AutoGPTQ's and GPTQModel's linear layers for the tensors.
"""

from functools import partial

import torch
from torch import Tensor

from headlight.model.base.errors import ConfigError
from headlight.model.checkpoints.quantization.packing import unpack
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

WORD = 32  # bits, and inputs that fill whole words
FORMATS = {None: 1, "gptq": 1, "gptq_v2": 0}  # what is taken off each zero before it is stored


def read(parts: Parts, settings: Settings) -> Tensor:
    """The matrix, [out, in], whose inputs are stored one behind the other in each output's words."""
    bits = whole(settings, "bits", (2, 3, 4, 8))
    if (layout := settings.get("checkpoint_format")) not in tuple(FORMATS):
        raise ConfigError(f"The weights are stored in GPTQ's {layout!r:.60}; read are gptq and gptq_v2. {OTHERWISE}")
    words = parts.matrix(".qweight", torch.int32)
    parts.require(len(words) % bits == 0, ".qweight", f"whole words of {WORD} inputs of {bits} bits")
    d_in, d_out = len(words) * WORD // bits, words.shape[1]
    size = group_size(settings) or d_in
    n_groups = -(-d_in // size)
    scales = parts.check(".scales", (n_groups, d_out), *FLOATS)
    zeros = parts.check(".qzeros", (n_groups, -(-d_out * bits // WORD)), torch.int32)
    groups = parts.get(".g_idx")
    if groups is None:
        groups = torch.arange(d_in, dtype=torch.int32) // size
    else:
        parts.check(".g_idx", (d_in,), torch.int32, torch.int64)
        is_right = int(groups.min()) >= 0 and int(groups.max()) < n_groups
        parts.require(is_right, ".g_idx", f"for each input a group from 0 to {n_groups - 1}")
    dequantise = partial(_dequantise, bits, scales, zeros, FORMATS[layout])
    rows = (words.view(-1, bits, d_out), groups.view(-1, WORD))
    return quantised(rows, (d_in // WORD, WORD, d_out), f"GPTQ, {bits} bits", dequantise).view(d_in, d_out).T


def _dequantise(bits: int, scales: Tensor, packed: Tensor, less: int, words: Tensor, groups: Tensor) -> Tensor:
    zeros = (unpack(packed, bits)[:, : scales.shape[1]].int() + less) & (2**bits - 1)
    numbers = unpack(words.transpose(1, 2), bits).transpose(1, 2)
    return (numbers.float() - zeros.float()[groups]) * scales.float()[groups]


SCHEMES = (Scheme(".qweight", (".scales", ".qzeros"), read, (".g_idx",)),)
