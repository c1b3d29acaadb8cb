"""A JSON header and numpy arrays in one `bytes` value, the only form in which Streamlit passes arrays unchanged."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import UInt8

_LENGTH_BYTES = 4


def pack(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Header length (uint32), header (JSON), then the arrays one after the other; all little-endian, rows first."""
    little = {name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    described = [{"name": name, "dtype": array.dtype.name, "shape": array.shape} for name, array in little.items()]
    text = json.dumps({**header, "arrays": described}, allow_nan=False).encode()
    length = len(text).to_bytes(_LENGTH_BYTES, "little")
    return b"".join([length, text, *(array.tobytes() for array in little.values())])


def json_array(value: Any) -> UInt8[np.ndarray, " byte"]:
    """Array of a JSON value, because the browser caches arrays: it is sent again only when it has changed."""
    return np.frombuffer(json.dumps(value, allow_nan=False).encode(), np.uint8)
