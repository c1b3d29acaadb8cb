"""Signed numbers as bars about a common zero, or each from where the one before it ended; for files alone."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from headlight.app.components.shared.mount import mount, register
from headlight.app.figures import Row

_render = register(__file__)


def signed_bars(bars: Sequence[Row], *, title: str, series: Sequence[str] = ("",), key: str) -> None:
    """Rows of bars, blue to the right and orange to the left; the second of two `series` is filled, the first hollow.

    `title` is what the numbers are, with their unit.
    """
    mount(
        _render,
        key=key,
        props={
            "title": title,
            "series": list(series),
            "labels": [bar.label for bar in bars],
            "texts": [bar.text for bar in bars],
            "kinds": [bar.kind for bar in bars],
        },
        arrays={"ends": np.array([bar.spans for bar in bars], np.float32).reshape(1, len(bars), 2 * len(series))},
    )


def bars_by_place(
    labels: Sequence[str],
    values: Float[np.ndarray, "row place"],
    places: Sequence[str],
    *,
    title: str,
    place: int,
    group: str,
) -> None:
    """Bars of one place, at first of `place`, then of that which is chosen in a map of the `group`."""
    mount(
        _render,
        key=title,
        group=group,
        props={"title": title, "series": [""], "labels": list(labels[: len(values)]), "places": list(places)},
        arrays={"ends": np.stack([np.zeros_like(values), values], -1).swapaxes(0, 1).astype(np.float32)},
        value=place,
    )
