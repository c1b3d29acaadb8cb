"""Numbers of a few bits each, which lie one behind the other in bytes or words, the lowest bits first."""

from functools import cache

import torch
from jaxtyping import Float32, UInt8
from torch import Tensor

# Sign, two bits of exponent and one of mantissa. Source: Open Compute Project 2023, "OCP Microscaling Formats".
FP4 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
BITS = (2, 3, 4, 5, 6, 8)


def unpack(words: Tensor, bits: int) -> UInt8[Tensor, "*rows number"]:
    """The whole numbers in rows of bytes or words, without a sign."""
    stored = words.contiguous().view(torch.uint8)
    if bits == 8:
        return stored
    if 8 % bits == 0:
        shifts = torch.arange(0, 8, bits, dtype=torch.uint8)
        return ((stored.unsqueeze(-1) >> shifts) & (2**bits - 1)).flatten(-2)
    eights = stored.unflatten(-1, (-1, bits)).long()  # of as many bytes as each has bits
    joined = (eights << torch.arange(0, 8 * bits, 8)).sum(-1, keepdim=True)
    return ((joined >> torch.arange(0, 8 * bits, bits)) & (2**bits - 1)).to(torch.uint8).flatten(-2)


@cache
def _fp4() -> Float32[Tensor, " code"]:
    return torch.tensor(FP4)


def fp4(stored: UInt8[Tensor, "*rows byte"]) -> Float32[Tensor, "*rows number"]:
    """The numbers of 4 bits with an exponent, two in a byte."""
    return _fp4()[unpack(stored, 4).int()]


def power_of_two(stored: UInt8[Tensor, "*rows"]) -> Float32[Tensor, "*rows"]:
    """Scales that are stored as an exponent alone, E8M0."""
    return torch.exp2(stored.float() - 127)


def scaled(numbers: Float32[Tensor, "*rows number"], scales: Tensor) -> Float32[Tensor, "*rows number"]:
    """Rows whose groups of neighbours are each multiplied by a scale: [..., row, group]."""
    return (numbers.unflatten(-1, (scales.shape[-1], -1)) * scales.float()[..., None]).flatten(-2)
