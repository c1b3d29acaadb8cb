"""The residual stream's lengths as a map, and what each part adds at the place that is clicked; for files alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from headlight.app.components.shared.mount import mount, register

_render = register(Path(__file__).parent)


@dataclass(frozen=True)
class Stream:
    """One run, or the difference of two: lengths, what each component adds and its share, cosines between layers."""

    norms: Float[np.ndarray, "layer place"]
    lengths: Float[np.ndarray, "component place"]
    shares: Float[np.ndarray, "component place"]
    cosines: Float[np.ndarray, "layer other_layer"]


def residual_map(
    streams: Mapping[str, Stream],
    *,
    labels: Sequence[str],
    layers: Sequence[str],
    components: Sequence[str],
    place: int,
) -> None:
    """The streams by their names, the third of three being the difference; NaN where a run has no such token."""
    mount(
        _render,
        key="residual",
        group="residual",
        props={"sides": list(streams), "labels": labels, "layers": layers, "components": components},
        arrays={
            f"{name}{slot}": values.astype(np.float32)
            for slot, stream in enumerate(streams.values())
            for name, values in vars(stream).items()
        },
        value=place,
    )
