"""Attention weights as small integers: square roots in a byte for pictures, logarithms in two bytes for figures."""

import numpy as np
from jaxtyping import Bool, Float, Float32, UInt8, UInt16

THUMBNAIL_ONE = 254
THUMBNAIL_MASKED = 255

WEIGHT_MASKED = 0
WEIGHT_ZERO = 1
WEIGHT_LOWEST = 2
WEIGHT_ONE = 65535
LOWEST_LOG_WEIGHT = -24.0
_NATS_PER_CODE = -LOWEST_LOG_WEIGHT / (WEIGHT_ONE - WEIGHT_LOWEST)


def encode_thumbnails(
    weights: Float[np.ndarray, "*batch h w"], masked: Bool[np.ndarray, "h w"]
) -> UInt8[np.ndarray, "*batch h w"]:
    """Attention weights (probability) as `round(254 * sqrt(weight))`, 255 where masked.

    The square root keeps small weights apart: linear codes would round 1/1024 to nothing.
    """
    codes = np.rint(THUMBNAIL_ONE * np.sqrt(weights)).astype(np.uint8)
    return np.where(masked, np.uint8(THUMBNAIL_MASKED), codes)


def encode_weights(
    pattern: Float[np.ndarray, "query key"], masked: Bool[np.ndarray, "query key"]
) -> UInt16[np.ndarray, "query key"]:
    """Attention weights (probability) with their logarithm on even steps from -24 nats to 0; relative error below 2e-4.

    0 is masked, 1 is zero or too small for the scale, 65535 is a weight of one.
    """
    with np.errstate(divide="ignore"):
        log_weight = np.log(pattern.astype(np.float64))
    steps = np.rint((np.clip(log_weight, LOWEST_LOG_WEIGHT, 0.0) - LOWEST_LOG_WEIGHT) / _NATS_PER_CODE)
    codes = np.where(log_weight < LOWEST_LOG_WEIGHT, WEIGHT_ZERO, steps + WEIGHT_LOWEST)
    return np.where(masked, WEIGHT_MASKED, codes).astype(np.uint16)


def decode_weights(codes: UInt16[np.ndarray, "query key"]) -> Float32[np.ndarray, "query key"]:
    """The weights (probability) that the browser shows for these codes; masked and zero cells are 0."""
    weights = np.exp(LOWEST_LOG_WEIGHT + (codes.astype(np.float64) - WEIGHT_LOWEST) * _NATS_PER_CODE)
    return np.where(codes < WEIGHT_LOWEST, 0.0, weights).astype(np.float32)
