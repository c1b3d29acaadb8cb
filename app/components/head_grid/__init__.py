"""All layers x heads as thumbnails on one canvas; a click selects a head."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from app.components.shared.mount import mount, register

HeadIndex = tuple[int, int]

_render = register(Path(__file__).parent)


def head_grid(
    thumbnails: UInt8[np.ndarray, "layer head h w"],
    *,
    selected: tuple[HeadIndex, ...],
    epoch: int,
    key: str,
    group: str,
    captions: Sequence[Sequence[str]] | None = None,
    max_selected: int = 6,
) -> tuple[HeadIndex, ...]:
    """Every head's attention (row = query, column = key); returns the selected heads in the order of their slots.

    `thumbnails` come from `encode_thumbnails`. `captions[layer][head]` is shown beside a head's name. `selected` counts
    when `epoch` is new, afterwards the user's own selection does. A head beyond `max_selected` takes the slot of the
    one selected longest.
    """
    n_layers, n_heads = thumbnails.shape[:2]
    value = mount(
        _render,
        key=key,
        group=group,
        props={"captions": captions, "maxSelected": max_selected},
        arrays={"thumbnails": thumbnails},
        value=selected,
        epoch=epoch,
    )
    return tuple((layer, head) for layer, head in value if layer < n_layers and head < n_heads)
