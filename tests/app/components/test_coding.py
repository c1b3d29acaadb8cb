"""Codes keep what they promise: small weights apart, errors bounded, zero and masked never confused."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.components import decode_weights, encode_positive, encode_signed, encode_thumbnails, encode_weights

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


@given(st.floats(float(np.exp(-23.99)), 1))
def test_weight_error_is_below_two_in_ten_thousand(weight: float) -> None:
    """24 nats on 65532 steps: half a step is 1.83e-4 nats, which bounds the relative error."""
    decoded = decode_weights(encode_weights(np.array([[weight]]), NOTHING))[0, 0]
    assert abs(decoded - weight) <= 2e-4 * weight


def test_weights_keep_masked_zero_and_one_exactly() -> None:
    """0 is masked, 2 is zero or under e^-24, the lowest weight on the scale is 3 and one is 65535."""
    pattern = np.array([[0.9, 0.0, np.exp(-24.1), np.exp(-24.0), 1.0]])
    masked = np.array([[True, False, False, False, False]])
    codes = encode_weights(pattern, masked)
    assert codes.tolist() == [[0, 2, 2, 3, 65535]]
    assert decode_weights(codes)[0, [0, 1, 2, 4]].tolist() == [0, 0, 0, 1]


def test_float32_patterns_are_coded_as_well() -> None:
    """The library's patterns are float32; their own rounding (6e-8) is far below the code's step."""
    pattern = np.random.default_rng(0).dirichlet(np.ones(64), 64).astype(np.float32)
    decoded = decode_weights(encode_weights(pattern, np.zeros((64, 64), bool)))
    np.testing.assert_allclose(decoded, pattern, rtol=2e-4)


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
