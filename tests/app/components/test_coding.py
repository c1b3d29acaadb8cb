"""Codes keep what they promise: small weights apart, errors bounded, zero and masked never confused."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headlight.app.components import encode_positive, encode_signed, encode_weights

NOTHING = np.zeros((1, 1), bool)


def test_thumbnails_keep_zero_masked_and_one_apart() -> None:
    weights = np.array([[1.0, np.nan], [0.0, 0.25]])
    codes = encode_positive(weights, 1.0)
    assert codes.tolist() == [[255, 0], [1, 128]]
    assert codes.dtype == np.uint8


@given(st.floats(0, 1))
def test_thumbnail_error_is_half_a_step_of_the_square_root(weight: float) -> None:
    """What is drawn is off by half of one of 254 steps; 1/1024, which linear bytes would lose, is eight steps."""
    code = encode_positive(np.array([[weight]]), 1.0)[0, 0]
    assert abs((code - 1) / 254 - np.sqrt(weight)) <= 0.5 / 254 + 1e-12  # 1e-12: float64 rounding
    assert encode_positive(np.array([[1 / 1024]]), 1.0)[0, 0] == 1 + 8


WEIGHTS = st.just(0.0) | st.floats(2.0**-126, 1, width=32)  # what is less is shown as that
PATTERN = np.random.default_rng(0).dirichlet(np.full(64, 0.1), 64).astype(np.float32)  # down to 1e-30
CAUSAL = np.triu(np.ones((64, 64), bool), 1)


def test_weights_travel_as_they_are_and_masked_ones_not_at_all() -> None:
    """2 080 of 4 096 cells at four bytes, and a bit for each: as many bytes as two for every cell."""
    sent = encode_weights(PATTERN, CAUSAL)
    np.testing.assert_array_equal(sent.cells, np.where(CAUSAL, np.nan, PATTERN))
    assert sent.visible.nbytes + sent.masked.nbytes == 64 * 65 // 2 * 4 + 64 * 64 // 8


def test_masks_of_any_shape_come_back() -> None:
    """Thirteen keys do not fill their bytes."""
    masked = np.random.default_rng(1).random((5, 13)) < 0.5
    np.testing.assert_array_equal(np.isnan(encode_weights(PATTERN[:5, :13], masked).cells), masked)


@given(WEIGHTS)
def test_rounded_weights_keep_four_digits(weight: float) -> None:
    """15 of 23 bits, so half a step is 2^-16 of the weight, and a whole one where a digit is at stake."""
    (rounded,) = encode_weights(np.array([[weight]], np.float32), NOTHING).rounded().visible
    assert f"{rounded:.3e}" == f"{np.float32(weight):.3e}"
    assert abs(rounded - weight) <= 2.0**-15 * weight
    assert rounded.view(np.uint32) % 256 == 0


def test_rounding_is_to_the_nearest_where_no_digit_is_at_stake() -> None:
    rounded = encode_weights(PATTERN, CAUSAL).rounded().cells
    error = np.abs(rounded / PATTERN - 1)[~CAUSAL]
    assert (error <= 2.0**-16).mean() > 0.75
    np.testing.assert_array_equal(np.isnan(rounded), CAUSAL)


def test_values_of_any_unit_are_coded_as_shares_of_their_limit() -> None:
    """128 is a quarter of the limit, as it is a weight of a quarter; what is above the limit is at it."""
    values = np.array([[10.0, 40.0, 0.0, 50.0, np.nan]])
    assert encode_positive(values, 40.0).tolist() == [[128, 255, 1, 255, 0]]
    assert encode_positive(np.zeros((1, 1)), 0.0).tolist() == [[1]]


def test_changes_are_coded_by_sign_and_size_around_no_change() -> None:
    """A quarter of the limit is half way to its end, because small changes are to be seen."""
    values = np.array([[-40.0, -10.0, 0.0, 10.0, 40.0, 50.0, np.nan]])
    assert encode_signed(values, 40.0).tolist() == [[255, 129, 1, 128, 254, 254, 0]]
    assert encode_signed(np.zeros((1, 1)), 0.0).tolist() == [[1]]
