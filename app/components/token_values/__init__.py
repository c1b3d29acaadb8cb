"""Tokens in reading order, each coloured by its own number, such as how active a feature or a neuron is there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from headlight.app.components.shared.mount import mount, register
from headlight.app.components.shared.packing import json_array

_render = register(__file__)


@dataclass(frozen=True, eq=False)
class TokenValues:
    """A line of tokens for each of the `lines`, by its name, each token coloured by its number there.

    `title` is what the numbers are, with their unit. A place of which a line has no number (NaN) is grey, and its
    tooltip says what it `lacks`. All lines have one scale, from zero to the largest, or both ways from zero where they
    are `signed`; it does not end before `least`. The `unit` is what has a label; units longer than tokens get more of
    the page before they scroll. `turns` are the role of each turn of a conversation, and the place that it begins at.
    A choice scrolls to the container whose key it `leads_to`, which what it changes is in.
    """

    labels: Sequence[str]
    lines: Mapping[str, Float[np.ndarray, " place"]]
    title: str
    caption: str = ""
    signed: bool = False
    lacks: str = "not in this run"
    unit: str = "token"
    least: float = 0.0
    turns: Sequence[tuple[str, int]] = ()
    leads_to: str = ""

    @property
    def values(self) -> Float[np.ndarray, "line place"]:
        """The numbers of all lines."""
        return np.stack([np.asarray(line, np.float32) for line in self.lines.values()])


def token_values(drawn: TokenValues, *, chosen: int | None = None, epoch: int = 0, key: str) -> int | None:
    """Show the lines; returns the place of the token that is chosen.

    `chosen` counts when `epoch` is new, afterwards the user's own choice does.
    """
    value = mount(
        _render,
        key=key,
        props={
            "title": drawn.title,
            "caption": drawn.caption,
            "signed": drawn.signed,
            "lacks": drawn.lacks,
            "unit": drawn.unit,
            "least": drawn.least,
            "lines": list(drawn.lines),
            "turns": [list(turn) for turn in drawn.turns],
            "leadsTo": drawn.leads_to,
        },
        arrays={"labels": json_array(list(drawn.labels)), "values": drawn.values},
        value=chosen,
        epoch=epoch,
    )
    return value if value is not None and value < len(drawn.labels) else None
