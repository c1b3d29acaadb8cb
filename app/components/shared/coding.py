"""Attention weights as small integers: square roots in a byte for pictures, logarithms in two bytes for figures."""

import numpy as np
from jaxtyping import Bool, Float, Float32, UInt8, UInt16

THUMBNAIL_ONE = 254
THUMBNAIL_MASKED = 255
THUMBNAIL_NO_CHANGE = 127

WEIGHT_MASKED = 0
WEIGHT_ABSENT = 1
WEIGHT_ZERO = 2
WEIGHT_LOWEST = 3
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


def encode_positive(
    values: Float[np.ndarray, "*batch h w"], limit: float, masked: Bool[np.ndarray, "h w"]
) -> UInt8[np.ndarray, "*batch h w"]:
    """Values from 0 to `limit` in any unit, coded as `encode_thumbnails` codes weights from 0 to 1."""
    return encode_thumbnails(np.where(masked, 0.0, np.clip(values / (limit or 1.0), 0.0, 1.0)), masked)


def encode_signed(values: Float[np.ndarray, "*batch h w"], limit: float) -> UInt8[np.ndarray, "*batch h w"]:
    """Values from -limit to limit as `127 + 127 * sign * sqrt(|value| / limit)`, rounded; 255 where not a number."""
    shares = np.clip(values / (limit or 1.0), -1.0, 1.0)
    codes = np.rint(THUMBNAIL_NO_CHANGE * (1 + np.sign(shares) * np.sqrt(np.abs(shares))))
    return np.where(np.isnan(values), THUMBNAIL_MASKED, codes).astype(np.uint8)


def encode_weights(
    pattern: Float[np.ndarray, "query key"], masked: Bool[np.ndarray, "query key"]
) -> UInt16[np.ndarray, "query key"]:
    """Attention weights (probability) with their logarithm on even steps from -24 nats to 0; relative error below 2e-4.

    0 is masked, 1 is free for tokens that a run lacks, 2 is zero or too small for the scale, 65535 is a weight of one.
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
