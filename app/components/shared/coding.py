"""Attention weights for the browser: square roots in a byte for thumbnails, float32 where their numbers are printed."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Float32, UInt8

STEPS = 254  # from a thumbnail's code for nothing, 1, to that for the limit; 0 is for what is no number
SIGNED_STEPS = STEPS // 2

WEIGHT_ABSENT = -1.0
SMALLEST = 2.0**-126  # the least that float32 holds with all its digits


def encode_positive(values: Float[np.ndarray, "*batch h w"], limit: float) -> UInt8[np.ndarray, "*batch h w"]:
    """Values from 0 to `limit` as `1 + round(254 * sqrt(value / limit))`, 0 where masked, which is where not a number.

    Where a pixel has room for one code only, the largest is the one to be seen. The square root keeps small weights
    apart: linear codes would round 1/1024 to nothing.
    """
    shares = np.clip(values / (limit or 1.0), 0.0, 1.0)
    return _in_bytes(1 + np.rint(STEPS * np.sqrt(shares)))


def encode_signed(values: Float[np.ndarray, "*batch h w"], limit: float) -> UInt8[np.ndarray, "*batch h w"]:
    """Values from -limit to limit in the order of their sizes, 0 where masked, which is where not a number.

    No change is 1. An increase is twice `round(127 * sqrt(|value| / limit))`, a decrease of that size one more.
    """
    shares = np.clip(values / (limit or 1.0), -1.0, 1.0)
    sizes = np.rint(SIGNED_STEPS * np.sqrt(np.abs(shares)))
    return _in_bytes(np.maximum(2 * sizes + (shares < 0), 1))


def _in_bytes(codes: Float[np.ndarray, "*batch h w"]) -> UInt8[np.ndarray, "*batch h w"]:
    return np.fmax(codes, 0).astype(np.uint8)  # which is 0 where there is no number


@dataclass(frozen=True, eq=False)
class Weights:
    """Attention weights (probability) as the run has them: those not masked, row by row, and a bit for each cell.

    So half of a causal pattern is not sent. -1 is a cell of a token that the run lacks.
    """

    visible: Float32[np.ndarray, " cell"]
    masked: UInt8[np.ndarray, "query bytes"]
    n_keys: int

    @property
    def cells(self) -> Float32[np.ndarray, "query key"]:
        """All cells, NaN where masked."""
        masked = np.unpackbits(self.masked, axis=1, count=self.n_keys).astype(bool)
        cells = np.full(masked.shape, np.nan, np.float32)
        cells[~masked] = self.visible
        return cells

    def rounded(self) -> "Weights":
        """These weights to 15 bits behind the point, which compress to less, with the first four digits kept.

        Where rounding would change a fourth digit, the next value towards the weight is taken: four digits are at least
        three of these steps wide.
        """
        step = np.uint32(1 << 8)  # of the last 8 of float32's 23 bits
        bits = self.visible.view(np.uint32)
        below = bits // step * step
        nearest = np.where(bits - below < step // 2, below, below + step)
        other = np.where(nearest == below, below + step, below)
        kept = four_digits(nearest.view(np.float32)) == four_digits(self.visible)
        return replace(self, visible=np.where(kept, nearest, other).view(np.float32))


def encode_weights(
    cells: Float[np.ndarray, "query key"], masked: Bool[np.ndarray, "query key"] | None = None
) -> Weights:
    """Encode a pattern for the browser, which prints these exact numbers; masked by `mask`, or where it is NaN."""
    masked = np.isnan(cells) if masked is None else masked
    arrays = cells[~masked].astype(np.float32, copy=False), np.packbits(masked, axis=1)
    for array in arrays:
        array.setflags(write=False)  # it is kept for later runs of the page, as is its digest
    return Weights(*arrays, cells.shape[1])


def four_digits(weights: Float[np.ndarray, " cell"]) -> Float[np.ndarray, " cell"]:
    """The weights to four significant digits, as the page prints them."""
    values = weights.astype(np.float64)
    unit = 10.0 ** (np.floor(np.log10(np.maximum(values, SMALLEST))) - 3)
    return np.rint(values / unit) * unit
