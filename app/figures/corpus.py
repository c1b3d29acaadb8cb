"""Plots of scans: all heads by two metrics, histograms, and a metric along training steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from headlight.app.figures.colours import BLUE, FAINT
from headlight.app.figures.layout import Axis, Colours, Plot
from headlight.app.figures.plots import interval, plain
from headlight.app.figures.text import escape, hover, number, quantity
from headlight.app.figures.tokens import colour as token

WIDE = 20  # times the first training step that the last one is, from which steps are drawn by their logarithm
MAX_NAMED = 3  # of the points that are chosen: where there are more, names stand over one another


@dataclass(frozen=True)
class Scale:
    """Measure of a scatter plot: a number of every point, NaN where there is none, and its name."""

    title: str
    values: np.ndarray
    signed: bool = False

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of its colour scale, symmetric around zero for a signed one."""
        finite = self.values[np.isfinite(self.values)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
        if self.signed:
            most = max(abs(low), abs(high)) or 1.0
            return -most, most
        return low, high if high > low else low + 1.0


def scatter(
    x: Scale,
    y: Scale,
    colour: Scale,
    names: Sequence[str],
    chosen: Sequence[int],
    *,
    title: str,
    words: Sequence[str] | None = None,
    even: bool = False,
) -> Plot:
    """Point for each name, with a ring and its name around the chosen ones; with `even` the line x = y.

    Each point's `customdata` is its place among the names.
    """
    there = np.flatnonzero(np.isfinite(x.values) & np.isfinite(y.values)).tolist()
    ringed = [place for place in chosen if place in set(there)]
    descriptions = words or [""] * len(names)
    texts = [
        hover([names[place], *(_told(each, place) for each in (x, y, colour)), descriptions[place]]) for place in there
    ]
    traces: list[dict[str, Any]] = []
    if even and there:
        both = np.concatenate([x.values[there], y.values[there]])
        ends = [float(both.min()), float(both.max())]
        line = {"color": FAINT, "width": 1, "dash": "dot"}
        traces.append({"type": "scatter", "mode": "lines", "x": ends, "y": ends, "line": line, "hoverinfo": "skip"})
    points = {"size": 9, "color": plain(colour.values[there]), "line": {"width": 0.5, "color": FAINT}}
    traces.append({**_at(x, y, there), "mode": "markers", "marker": points, "hovertext": texts})
    ring = {"size": 16, "symbol": "circle-open", "line": {"width": 2.5}, "color": token("slot-6")}
    traces.append(
        {
            **_at(x, y, ringed),
            "mode": "markers+text",
            "marker": ring,
            "text": [escape(names[place]) for place in ringed[: MAX_NAMED if len(ringed) <= MAX_NAMED else 1]],
            "textposition": "top center",
            "hovertext": [hover([names[place], descriptions[place]]) for place in ringed],
            "cliponaxis": False,
        }
    )
    plain_traces = [{**trace, "name": "", "showlegend": False} for trace in traces]
    colours = Colours(colour.title, colour.ends, colour.signed)
    return Plot(title, Axis(x.title), Axis(y.title), plain_traces, colours, height=330)


def _at(x: Scale, y: Scale, places: Sequence[int]) -> dict[str, Any]:
    at = {"x": plain(x.values[list(places)]), "y": plain(y.values[list(places)])}
    return {"type": "scatter", **at, "customdata": list(places)}


def _told(scale: Scale, place: int) -> str:
    value = float(scale.values[place])
    return f"{scale.title}: {number(value)}" if np.isfinite(value) else ""


def histogram(edges: Sequence[float], values: Sequence[float], *, title: str, along: str, unit: str) -> Plot:
    """A bar from each edge to the next, those of whole numbers of unequal width side by side, labelled."""
    even = np.allclose(np.diff(edges), edges[1] - edges[0]) if len(edges) > 1 else True
    bins = list(pairwise(edges))
    spans = [f"{number(low)} to {number(high)}" for low, high in bins]
    texts = [hover([f"{span} {along}", quantity(value, unit)]) for span, value in zip(spans, values, strict=True)]
    middles = [(low + high) / 2 for low, high in bins]
    labels = [number(low) if high - low <= 1 else f"{number(low)}–{number(high - 1)}" for low, high in bins]
    trace = {
        "type": "bar",
        "x": middles if even else list(range(len(values))),
        "y": plain(values),
        "marker": {"color": BLUE},
        "hovertext": texts,
        "name": "",
        "showlegend": False,
    }
    x = Axis(along) if even else Axis(along, labels)
    return Plot(title, x, Axis(unit, from_zero=True), [trace], height=130)


def steps(
    series: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]], *, title: str, unit: str
) -> Plot:
    """A line a name through a figure at training steps, with its interval: (steps, values, low, high)."""
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": escape(name),
            "showlegend": True,
            "x": plain(at),
            "y": plain(values),
            "error_y": interval(values, low, high),
            "hovertext": [
                hover([f"step {number(step)}", f"{name}: {number(value)}"])
                for step, value in zip(at.tolist(), values.tolist(), strict=True)
            ],
        }
        for name, (at, values, low, high) in series.items()
    ]
    all_at = np.concatenate([at for at, *_ in series.values()])
    wide = all_at.min() > 0 and all_at.max() >= WIDE * all_at.min()  # heads form early, and training goes on for long
    return Plot(title, Axis("training step", kind="log" if wide else "linear"), Axis(unit), traces, height=170)
