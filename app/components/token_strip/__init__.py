"""The prompt's tokens in reading order, coloured by one head's attention from or to the token under the pointer."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from app.components.heads import HeadPattern
from app.components.shared.mount import mount, register

_render = register(Path(__file__).parent)


def token_strip(
    labels: Sequence[str],
    pattern: HeadPattern,
    *,
    key: str,
    group: str,
    scale: Literal["sqrt", "linear"] = "sqrt",
) -> None:
    """Tokens that recolour by `pattern`'s weights from (as query) or to (as key) the token hovered or pinned.

    The colours are those of `heads`, whose colour bar explains them. The pin is the group's: `heads` in the same group
    shows it and returns it.
    """
    mount(
        _render,
        key=key,
        group=group,
        props={"labels": labels, "head": (pattern.layer, pattern.head), "scale": scale},
        arrays={"weights": pattern.weights, "logsumexp": pattern.logsumexp.astype(np.float32)},
    )
