"""Every head's mean and standard deviation over prompts as two maps; for files alone."""

from pathlib import Path

import numpy as np

from headlight.app.components.shared.mount import mount, register
from headlight.model.analysis.spread import Spread

_render = register(Path(__file__).parent)


def head_maps(spread: Spread, *, title: str) -> None:
    """A square a head, each map coloured from 0; pointed at, both numbers and how many prompts they are of."""
    values = {"mean": spread.mean.values, "sd": spread.sd.values, "count": spread.count}
    mount(
        _render,
        key="head_maps",
        group="prompts",
        props={"title": title, "unit": spread.mean.unit},
        arrays={name: each.numpy().astype(np.float32) for name, each in values.items()},
    )
