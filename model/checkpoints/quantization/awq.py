"""AWQ: whole numbers of 4 bits, with a scale and a zero for each output and group of inputs.

Source: Lin et al. 2023, "AWQ"; AutoAWQ's WQLinear_GEMM for the tensors.
"""

from typing import Any

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

BITS, IN_WORD = 4, 8
PLACES = [0, 4, 1, 5, 2, 6, 3, 7]  # of eight outputs, where each lies in their word


def read(parts: Parts, settings: Settings) -> Tensor:
    """The matrix, [out, in], whose outputs are stored eight in a word, those with even numbers first."""
    whole(settings, "bits", (BITS,), settings.get("w_bit", BITS))
    version: Any = settings.get("version", "gemm")
    if str(version).lower() != "gemm":
        raise ConfigError(f"The weights are stored in AWQ's {version!r:.60}; read is gemm. {OTHERWISE}")
    words = parts.matrix(".qweight", torch.int32)
    d_in, d_out = len(words), words.shape[1] * IN_WORD
    size = group_size(settings, settings.get("q_group_size", 128)) or d_in
    parts.require(d_in % size == 0, ".qweight", f"of inputs that groups of {size} divide")
    n_groups = d_in // size
    scales = parts.check(".scales", (n_groups, d_out), *FLOATS)
    zeros = parts.check(".qzeros", (n_groups, words.shape[1]), torch.int32)
    rows = words.view(n_groups, size, -1), scales, zeros
    return quantised(rows, (n_groups, size, d_out), "AWQ, 4 bits", _dequantise).view(d_in, d_out).T


def _dequantise(words: Tensor, scales: Tensor, zeros: Tensor) -> Tensor:
    return (_in_order(words) - _in_order(zeros)[:, None]) * scales.float()[:, None]


def _in_order(words: Tensor) -> Tensor:
    return unpack(words, BITS).unflatten(-1, (-1, IN_WORD))[..., PLACES].flatten(-2).float()


SCHEMES = (Scheme(".qweight", (".scales", ".qzeros"), read),)
