"""Reads what `pack` has written, as the browser's `unpackHeader` and `unpackArrays` do."""

import json
from typing import Any

import numpy as np

LENGTH_BYTES = 4


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `pack` was given."""
    start = LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "little")
    header = json.loads(data[LENGTH_BYTES:start])
    arrays = {}
    for described in header.pop("arrays"):
        dtype = np.dtype(described["dtype"]).newbyteorder("<")
        count = int(np.prod(described["shape"]))
        arrays[described["name"]] = np.frombuffer(data, dtype, count, start).reshape(described["shape"])
        start += count * dtype.itemsize
    return header, arrays
