"""Sequences as running text, each token coloured by one head's largest weights, from it and to it.

The weights are sparse, so that a head's twenty sequences of hundreds of tokens are one component: a `token_strip` each
would hold tokens^2 weights apiece.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from headlight.app.components.shared.mount import mount, register
from headlight.app.components.shared.packing import json_array

_render = register(__file__)


@dataclass(frozen=True, eq=False)
class SampledText:
    """A text's display labels, and weights of cells: cell = query * n_tokens + key.

    `group` is the heading that it stands under, `title` and `note` what is said above it; `marked` is the cell (query,
    key) that is scrolled into view. With a `scale` only cells of a token with itself have a weight: its activation as
    a share of the scale, which colours it.
    """

    tokens: Sequence[str]
    cells: Int[np.ndarray, " weight"]
    weights: Float[np.ndarray, " weight"]
    title: str
    note: str = ""
    group: str = ""
    marked: tuple[int, int] | None = None
    scale: float | None = None


@dataclass(frozen=True, eq=False)
class SampledTexts:
    """Texts one under the other; `title` is the list's name for screen readers."""

    texts: Sequence[SampledText]
    title: str


def sampled_texts(drawn: SampledTexts, *, chosen: int | None = None, epoch: int = 0, key: str) -> int | None:
    """Show the texts; returns the place of the chosen one.

    A token that is pointed at colours those that it looks at, and those that look at it. `chosen` counts when `epoch`
    is new, afterwards the user's own choice does.
    """
    fields = ("tokens", "title", "note", "group", "marked", "scale")
    described = [
        {**{name: getattr(text, name) for name in fields}, "tokens": list(text.tokens)} for text in drawn.texts
    ]
    arrays = {"texts": json_array(described)}
    for place, text in enumerate(drawn.texts):
        queries, keys = np.divmod(text.cells.astype(np.int64), max(len(text.tokens), 1))
        arrays[f"{place}.queries"] = queries.astype(np.int32)
        arrays[f"{place}.keys"] = keys.astype(np.int32)
        arrays[f"{place}.weights"] = text.weights.astype(np.float32)
    value = mount(_render, key=key, props={"title": drawn.title}, arrays=arrays, value=chosen, epoch=epoch)
    return value if value is not None and value < len(drawn.texts) else None
