"""Heads as thumbnails on one canvas, as a table of layers or in any order; a click selects a head."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import UInt8

from headlight.app.components.shared.mount import mount, register

HeadIndex = tuple[int, int]

_render = register(__file__)


@dataclass(frozen=True)
class HeadRole:
    """What some heads do: its key and name, the colour of the bar over their pictures, and the heads."""

    key: str
    title: str
    colour: str
    heads: Sequence[HeadIndex]


@dataclass(frozen=True, eq=False)
class HeadScores:
    """A score of every head, the tint of a strip under its picture, from `encode_positive` or `encode_signed`."""

    codes: UInt8[np.ndarray, "layer head"]
    title: str
    limit: float
    kind: Literal["positive", "signed"] = "positive"


@dataclass(frozen=True, eq=False)
class HeadGrid:
    """Every head's picture (row = query, column = key).

    `thumbnails` come from `encode_positive` or, where `kind` is signed, from `encode_signed`; the colour bar ends at
    `legend_limit`, and `lacks` says why cells are hatched. Without `order` they stand in a table of layers and heads;
    with it, these heads follow one another in lines, each with its name and `figures[layer][head]` under it.
    `captions[layer][head]` is shown beside a head's name at the pointer, `marks[layer][head]` in the corner of its
    picture, where it is not empty. A picture of a table is `largest` pixels wide at most. The `roles` are a legend with
    counts, in which one is looked at by pointing, and chosen by a click: heads without the `role` are dimmed. Pictures
    of another `side` come out from under those of the one before.
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
    roles: Sequence[HeadRole] = ()
    role: str | None = None
    scores: HeadScores | None = None
    side: str = ""


def head_grid(
    drawn: HeadGrid,
    *,
    selected: tuple[HeadIndex, ...],
    epoch: int,
    key: str,
    group: str,
    choose_role: Callable[[str | None], None] = lambda _: None,
) -> tuple[HeadIndex, ...]:
    """Show the heads; returns the selected ones in the order of their slots.

    `selected` counts when `epoch` is new, afterwards the user's own selection does. `choose_role` hears of the role
    that is chosen in the legend, None for all.
    """
    scores = drawn.scores
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
            "roles": [vars(role) for role in drawn.roles],
            "role": drawn.role,
            "side": drawn.side,
            "scored": scores and {"title": scores.title, "limit": scores.limit, "kind": scores.kind},
        },
        arrays={"thumbnails": drawn.thumbnails} | ({"scores": scores.codes} if scores else {}),
        value=selected,
        epoch=epoch,
        opened=lambda role: choose_role(role or None),
    )
    return tuple((layer, head) for layer, head in value if layer < n_layers and head < n_heads)
