"""Tokens in reading order, each coloured by its own number, such as how active a feature or a neuron is there."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from headlight.app.components.shared.mount import mount, register
from headlight.app.components.shared.packing import json_array

_render = register(__file__)


def token_values(
    labels: Sequence[str],
    lines: Mapping[str, Float[np.ndarray, " place"]],
    *,
    title: str,
    caption: str = "",
    signed: bool = False,
    chosen: int | None = None,
    epoch: int = 0,
    key: str,
) -> int | None:
    """A line of tokens for each of the `lines`, by its name; returns the place of the token that is chosen.

    `title` is what the numbers are, with their unit. A place of which a line has no number (NaN) is grey. All lines
    have one scale, from zero to the largest, or both ways from zero where they are `signed`. `chosen` counts when
    `epoch` is new, afterwards the user's own choice does.
    """
    values = np.stack([np.asarray(each, np.float32) for each in lines.values()])
    value = mount(
        _render,
        key=key,
        props={"title": title, "caption": caption, "signed": signed, "lines": list(lines)},
        arrays={"labels": json_array(list(labels)), "values": values},
        value=chosen,
        epoch=epoch,
    )
    return value if value is not None and value < len(labels) else None
