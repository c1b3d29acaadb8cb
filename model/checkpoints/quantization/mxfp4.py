"""MXFP4 as OpenAI's gpt-oss is published: 4 bits a number, and an exponent for 32 of them.

Source: Open Compute Project 2023, "OCP Microscaling Formats"; transformers' integrations/mxfp4.py for the tensors.
"""

import torch
from torch import Tensor

from headlight.model.checkpoints.quantization.packing import fp4, power_of_two
from headlight.model.checkpoints.quantization.scheme import Parts, Scheme, Settings, quantised

BLOCK = 32  # numbers


def read(parts: Parts, settings: Settings) -> Tensor:
    """The matrices of all experts, [expert, in, out], which are stored as [expert, out, in]."""
    blocks, uint8 = parts["_blocks"], torch.uint8
    is_right = blocks.ndim == 4 and blocks.shape[-1] == BLOCK // 2 and blocks.numel() > 0 and blocks.dtype == uint8
    parts.require(is_right, "_blocks", f"[expert, out, block, {BLOCK // 2}] of uint8")
    n_experts, d_out, n_blocks = blocks.shape[:3]
    scales = parts.check("_scales", (n_experts, d_out, n_blocks), uint8)
    return quantised((blocks, scales), (n_experts, n_blocks * BLOCK, d_out), "MXFP4", _dequantise)


def _dequantise(blocks: Tensor, scales: Tensor) -> Tensor:
    return (fp4(blocks) * power_of_two(scales)[..., None]).flatten(2).transpose(1, 2)


SCHEMES = (Scheme("_blocks", ("_scales",), read, matrix=""),)
