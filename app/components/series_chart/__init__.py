"""Numbers along a few named places: as lines, or as bars that stand side by side at each place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from app.components.shared.mount import mount, register

_render = register(Path(__file__).parent)

Colour = Literal["blue", "orange", "grey", "light grey"]


@dataclass(frozen=True)
class Line:
    """A number at every place, NaN where there is none, and a word beside each, if any."""

    name: str
    values: Float[np.ndarray, " place"]
    words: Sequence[str] = ()
    dashed: bool = False


@dataclass(frozen=True)
class Bars:
    """A number at every place, NaN where there is no bar."""

    name: str
    values: Float[np.ndarray, " place"]
    colour: Colour
    hatched: bool = False


def line_chart(
    lines: Sequence[Line],
    places: Sequence[str],
    *,
    title: str,
    along: str,
    faint: Float[np.ndarray, "line place"] | None = None,
    faint_name: str = "",
    log: bool = False,
    percent: bool = False,
    key: str,
) -> None:
    """Up to two strong lines, one of them dashed, over any number of `faint` ones; a line of NaN is left out.

    `title` is what the numbers are, with their unit, `along` what the places are called together. The axis begins at
    zero, or is logarithmic.
    """
    _chart(
        "lines",
        [(line.name, line.values, {"words": list(line.words), "dashed": line.dashed}) for line in lines],
        places,
        {"title": title, "along": along, "faintName": faint_name, "log": log, "percent": percent},
        np.empty((0, len(places))) if faint is None else faint,
        key,
    )


def bar_chart(bars: Sequence[Bars], places: Sequence[str], *, title: str, along: str, key: str) -> None:
    """Bars from zero, side by side at each place in the order given."""
    _chart(
        "bars",
        [(each.name, each.values, {"colour": each.colour, "hatched": each.hatched}) for each in bars],
        places,
        {"title": title, "along": along, "faintName": "", "log": False, "percent": False},
        np.empty((0, len(places))),
        key,
    )


def _chart(
    kind: Literal["lines", "bars"],
    series: Sequence[tuple[str, Float[np.ndarray, " place"], Mapping[str, Any]]],
    places: Sequence[str],
    props: Mapping[str, Any],
    faint: Float[np.ndarray, "line place"],
    key: str,
) -> None:
    values = [each for _, each, _ in series]
    mount(
        _render,
        key=key,
        group=key,
        props={
            **props,
            "kind": kind,
            "places": list(places),
            "series": [{"name": name, **of} for name, _, of in series],
        },
        arrays={
            "values": np.array(values, np.float32).reshape(len(values), len(places)),
            "faint": faint.astype(np.float32),
        },
    )
