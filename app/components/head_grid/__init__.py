"""Heads as thumbnails on one canvas, as a table of layers or in any order; a click selects a head."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import UInt8

from headlight.app.components.shared.mount import mount, register

HeadIndex = tuple[int, int]

_render = register(__file__)


@dataclass(frozen=True, eq=False)
class HeadGrid:
    """Every head's picture (row = query, column = key).

    `thumbnails` come from `encode_positive` or, where `kind` is signed, from `encode_signed`; the colour bar ends at
    `legend_limit`, and `lacks` says why cells are hatched. Without `order` they stand in a table of layers and heads;
    with it, these heads follow one another in lines, each with its name and `figures[layer][head]` under it.
    `captions[layer][head]` is shown beside a head's name at the pointer, `marks[layer][head]` in the corner of its
    picture, where it is not empty. A picture of a table is `largest` pixels wide at most.
    """

    thumbnails: UInt8[np.ndarray, "layer head h w"]
    captions: Sequence[Sequence[str]] | None = None
    order: Sequence[HeadIndex] | None = None
    figures: Sequence[Sequence[str]] | None = None
    marks: Sequence[Sequence[str]] | None = None
    largest: int | None = None
    kind: Literal["positive", "signed"] = "positive"
    legend_title: str = "attention weight"
    legend_limit: float = 1.0
    lacks: str = "masked"


def head_grid(
    drawn: HeadGrid, *, selected: tuple[HeadIndex, ...], epoch: int, key: str, group: str
) -> tuple[HeadIndex, ...]:
    """Show the heads; returns the selected ones in the order of their slots.

    `selected` counts when `epoch` is new, afterwards the user's own selection does.
    """
    n_layers, n_heads = drawn.thumbnails.shape[:2]
    value = mount(
        _render,
        key=key,
        group=group,
        props={
            "captions": drawn.captions,
            "order": drawn.order,
            "figures": drawn.figures,
            "marks": drawn.marks,
            "largest": drawn.largest,
            "kind": drawn.kind,
            "legendTitle": drawn.legend_title,
            "legendLimit": drawn.legend_limit,
            "lacks": drawn.lacks,
        },
        arrays={"thumbnails": drawn.thumbnails},
        value=selected,
        epoch=epoch,
    )
    return tuple((layer, head) for layer, head in value if layer < n_layers and head < n_heads)
