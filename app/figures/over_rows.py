"""Plots of a measure over the rows of a set: means with their intervals, and one cell's distribution."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headlight.app.figures.layout import Axis, Plot
from headlight.app.figures.plots import COLOURS, SIDES, interval, plain, spelled
from headlight.app.figures.text import escape, hover, measured, quantity

LANE = 0.8  # of the room between two sides, that the points of one may take
PILES = 24  # steps of the axis whose points are stacked


@dataclass(frozen=True, eq=False)
class Means:
    """The mean at every place, with the ends of its interval; NaN where there is none."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True, eq=False)
class Rows:
    """A value of every row, what the row is called, and the mean with the ends of its interval."""

    values: np.ndarray
    names: Sequence[str]
    mean: float
    low: float
    high: float


def means(
    sides: Mapping[str, Means],
    places: Sequence[str],
    *,
    title: str,
    unit: str,
    what: str = "",
    along: str,
    joined: bool = False,
) -> Plot:
    """A point a side at every place, with its interval; `joined` by lines where the places follow one another."""
    traces: list[dict[str, Any]] = []
    for slot, (side, summary) in enumerate(sides.items()):
        colour, dash = SIDES.get(side, SIDES["A"])
        shift = 0.0 if joined else 0.5 * (slot - (len(sides) - 1) / 2) / len(sides)
        x = [place + shift for place in range(len(summary.mean))]
        if joined:
            line = {"color": COLOURS[colour], "width": 2, "dash": dash}
            at = {"x": x, "y": plain(summary.mean), "showlegend": False, "name": "", "hoverinfo": "skip"}
            traces.append({"type": "scatter", "mode": "lines", "line": line, **at})
        texts = [
            hover([f"{along} {place}", f"{side and f'{side}: '}{quantity(mean, unit)}", spelled(low, high, unit)])
            for place, mean, low, high in zip(places, summary.mean, summary.low, summary.high, strict=False)
        ]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": escape(side),
                "showlegend": bool(side),
                "x": x,
                "y": plain(summary.mean),
                "error_y": interval(summary.mean, summary.low, summary.high),
                "marker": {"color": COLOURS[colour], "size": 7},
                "customdata": list(range(len(summary.mean))),
                "hovertext": texts,
            }
        )
    return Plot(title, Axis(along, places), Axis(measured(what, unit)), traces, height=260)


def distribution(sides: Mapping[str, Rows], *, title: str, unit: str, what: str = "") -> Plot:
    """A point for every row in a lane a side, with the mean and its interval as a bar across the lane.

    Each point's `customdata` is its row's place.
    """
    traces: list[dict[str, Any]] = []
    finite = np.concatenate([sample.values[np.isfinite(sample.values)] for sample in sides.values()])
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    for lane, (side, sample) in enumerate(sides.items()):
        colour = COLOURS[SIDES.get(side, SIDES["A"])[0]]
        there = np.flatnonzero(np.isfinite(sample.values))
        quiet = {"type": "scatter", "name": "", "showlegend": False}
        traces.append(
            {
                **quiet,
                "mode": "markers",
                "x": plain(sample.values[there]),
                "y": (lane + _stacked(sample.values[there], low, high)).tolist(),
                "marker": {"color": colour, "size": 7, "opacity": 0.7},
                "customdata": there.tolist(),
                "hovertext": [
                    hover([sample.names[row], quantity(float(sample.values[row]), unit)]) for row in there.tolist()
                ],
            }
        )
        line = {"color": colour, "width": 3}
        ends = plain([sample.low, sample.high])
        traces.append({**quiet, "mode": "lines", "x": ends, "y": [lane, lane], "line": line, "hoverinfo": "skip"})
        tick = {"x": [sample.mean, sample.mean], "y": [lane - LANE / 2, lane + LANE / 2]}
        said = [hover([f"mean {quantity(sample.mean, unit)}", spelled(sample.low, sample.high, unit)])] * 2
        traces.append({**quiet, "mode": "lines", **tick, "line": {**line, "width": 2}, "hovertext": said})
    names = [name or "rows" for name in sides]
    return Plot(title, Axis(measured(what, unit)), Axis("", names, down=True), traces, height=max(110, 80 * len(sides)))


def _stacked(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """How far from the middle of its lane each value lies, so that near ones do not hide each other."""
    pile = np.clip(((values - low) / ((high - low) or 1.0) * PILES).astype(int), 0, PILES - 1)
    order = np.argsort(pile, kind="stable")
    first = np.searchsorted(pile[order], pile[order])  # of each pile
    rank = np.empty(len(pile))
    rank[order] = np.arange(len(pile)) - first
    away = np.ceil(rank / 2) * np.where(rank % 2, 1, -1)
    largest = float(np.abs(away).max(initial=0.0)) or 1.0
    return away * min(0.1, LANE / 2 / largest)
