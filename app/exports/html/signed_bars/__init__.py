"""Signed numbers as bars about a common zero, or each from where the one before it ended; for files alone."""

import numpy as np

from headlight.app.components.shared.mount import mount, register
from headlight.app.exports.drawings import BarList, BarsByPlace

_render = register(__file__)


def signed_bars(drawn: BarList, *, key: str) -> None:
    """Rows of bars; the second of two series is filled, the first hollow."""
    mount(
        _render,
        key=key,
        props={
            "title": drawn.title,
            "series": list(drawn.series),
            "labels": [row.label for row in drawn.rows],
            "texts": [row.text for row in drawn.rows],
            "kinds": [row.kind for row in drawn.rows],
        },
        arrays={
            "ends": np.array([row.spans for row in drawn.rows], np.float32).reshape(
                1, len(drawn.rows), 2 * len(drawn.series)
            )
        },
    )


def bars_by_place(drawn: BarsByPlace, *, place: int, group: str, key: str) -> None:
    """Bars of one place, at first of `place`, then of that which is chosen in a map of the `group`."""
    labels, places = list(drawn.labels[: len(drawn.values)]), list(drawn.places)
    mount(
        _render,
        key=key,
        group=group,
        props={"title": drawn.title, "series": [""], "labels": labels, "places": places},
        arrays={"ends": np.stack([np.zeros_like(drawn.values), drawn.values], -1).swapaxes(0, 1).astype(np.float32)},
        value=place,
    )
