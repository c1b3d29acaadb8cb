"""What is packed comes out again, whatever its shape and byte order."""

import numpy as np
import pytest

from headlight.app.components.shared.packing import pack
from tests.unpacking import unpack

ARRAYS = {
    "odd": np.arange(7, dtype=np.uint8),  # makes the next array start off its alignment
    "codes": np.arange(12, dtype=np.uint16).reshape(3, 4)[:, ::2],  # not contiguous
    "big": np.array([1, -2], dtype=">i4"),
    "empty": np.zeros((0, 5), np.float32),
    "measure": np.array([[0.5, -1.25]], np.float32),
}


def test_header_and_arrays_survive() -> None:
    """Text may be anything, arrays may be views, big-endian or empty."""
    header = {"labels": ["·the", "\\n", "\ud800", "</script>"], "value": None}
    unpacked, arrays = unpack(pack(header, ARRAYS))
    assert unpacked == header
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].shape == array.shape


def test_not_a_number_is_refused_in_the_header() -> None:
    """JSON has no NaN: the browser could not read the header."""
    with pytest.raises(ValueError, match="JSON compliant"):
        pack({"range": float("nan")}, {})
