"""The selected heads' attention side by side, on one scale and with one crosshair; a click pins a cell."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float32, UInt16

from app.components.shared.mount import mount, register

_render = register(Path(__file__).parent)


@dataclass(frozen=True)
class HeadPattern:
    """One head's attention: weights from `encode_weights`, and the log-sum-exp (nats) of each query's scores."""

    layer: int
    head: int
    weights: UInt16[np.ndarray, "query key"]
    logsumexp: Float32[np.ndarray, "query"]


class Pin(NamedTuple):
    """A pinned cell; in the token strip only its query or only its key is pinned, and the other is None."""

    query: int | None
    key: int | None


def heads(
    patterns: Sequence[HeadPattern],
    query_labels: Sequence[str],
    key_labels: Sequence[str],
    *,
    pinned: Pin | None,
    epoch: int,
    key: str,
    group: str,
    scale: Literal["sqrt", "linear"] = "sqrt",
) -> Pin | None:
    """Each pattern as a heatmap (row = query, column = key) with figures at the pointer; returns the pinned cell.

    A pattern's index is its slot, the number and colour that `head_grid` frames it with. `pinned` counts when `epoch`
    is new, afterwards the user's own pin does. Colours follow the weight or its square root, from 0 to 1.
    """
    value = mount(
        _render,
        key=key,
        group=group,
        props={
            "heads": [(pattern.layer, pattern.head) for pattern in patterns],
            "queryLabels": query_labels,
            "keyLabels": key_labels,
            "scale": scale,
        },
        arrays={
            **{f"weights{slot}": pattern.weights for slot, pattern in enumerate(patterns)},
            **{f"logsumexp{slot}": pattern.logsumexp.astype(np.float32) for slot, pattern in enumerate(patterns)},
        },
        value=pinned,
        epoch=epoch,
    )
    return _pin_within(value, len(query_labels), len(key_labels))


def _pin_within(value: Sequence[int | None] | None, n_queries: int, n_keys: int) -> Pin | None:
    """The pin, unless it belongs to a longer prompt than the one shown."""
    if value is None:
        return None
    query, key = value
    return Pin(query, key) if (query or 0) < n_queries and (key or 0) < n_keys else None
