"""Codes keep what they promise: small weights apart, errors bounded, zero and masked never confused."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.components import encode_positive, encode_signed, encode_thumbnails, encode_weights

NOTHING = np.zeros((1, 1), bool)


def test_thumbnails_keep_zero_masked_and_one_apart() -> None:
    """The mask wins over whatever weight stands under it."""
    weights = np.array([[1.0, 0.3], [0.0, 0.25]])
    masked = np.array([[False, True], [False, False]])
    assert encode_thumbnails(weights, masked).tolist() == [[254, 255], [0, 127]]


def test_thumbnails_broadcast_one_mask_over_layers_and_heads() -> None:
    """One [h, w] mask serves all heads."""
    codes = encode_thumbnails(np.zeros((2, 3, 4, 4), np.float32), np.triu(np.ones((4, 4), bool), 1))
    assert codes.shape == (2, 3, 4, 4)
    assert codes.dtype == np.uint8
    assert (codes == 255).sum() == 2 * 3 * 6


@given(st.floats(0, 1))
def test_thumbnail_error_is_half_a_step_of_the_square_root(weight: float) -> None:
    """What is drawn is off by half of one of 254 steps; 1/1024, which linear bytes would lose, gets code 8."""
    code = encode_thumbnails(np.array([[weight]]), NOTHING)[0, 0]
    assert abs(code / 254 - np.sqrt(weight)) <= 0.5 / 254 + 1e-12  # 1e-12: float64 rounding
    assert encode_thumbnails(np.array([[1 / 1024]]), NOTHING)[0, 0] == 8


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
    """Code 127 is a quarter of the limit, as it is a weight of a quarter; what is above the limit is at it."""
    values = np.array([[10.0, 40.0, 0.0, 50.0, np.nan]])
    masked = np.array([[False, False, False, False, True]])
    assert encode_positive(values, 40.0, masked).tolist() == [[127, 254, 0, 254, 255]]
    assert encode_positive(np.zeros((1, 1)), 0.0, NOTHING).tolist() == [[0]]


def test_changes_are_coded_by_sign_and_size_around_no_change() -> None:
    """A quarter of the limit is half way to its end, because small changes are to be seen."""
    values = np.array([[-40.0, -10.0, 0.0, 10.0, 40.0, 50.0, np.nan]])
    assert encode_signed(values, 40.0).tolist() == [[0, 64, 127, 190, 254, 254, 255]]
    assert encode_signed(np.zeros((1, 1)), 0.0).tolist() == [[127]]
