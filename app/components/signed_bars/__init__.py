"""Signed numbers as bars about a common zero, or each from where the one before it ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from app.components.shared.mount import mount, register

_render = register(Path(__file__).parent)


@dataclass(frozen=True)
class SignedBar:
    """A row: its label, from where to where each of its bars goes, and what stands beside them.

    A sum and what is left of a list look different from the others.
    """

    label: str
    spans: Sequence[tuple[float, float]]
    text: str
    kind: Literal["", "sum", "rest"] = ""


def signed_bars(
    bars: Sequence[SignedBar], *, title: str, series: Sequence[str] = ("",), reach: float = 0.0, key: str
) -> None:
    """Rows of bars, blue to the right and orange to the left; the second of two `series` is filled, the first hollow.

    `title` is what the numbers are, with their unit. The scale reaches from zero to the bars' ends, and as far as
    `reach`, which makes that of several components one.
    """
    mount(
        _render,
        key=key,
        group=key,
        props={
            "title": title,
            "series": list(series),
            "reach": reach,
            "labels": [bar.label for bar in bars],
            "texts": [bar.text for bar in bars],
            "kinds": [bar.kind for bar in bars],
        },
        arrays={"spans": np.array([bar.spans for bar in bars], np.float32).reshape(len(bars), len(series), 2)},
    )
