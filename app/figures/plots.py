"""The kinds of plots: lines along layers, bars, maps of cells, heads as points, and counts; `bar_list` has one more.

Values are lists or arrays; a name beside them that is A or B, or neither (B − A), says how they look.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from headlight.app.figures.colours import BLUE, FAINT, GREY, ON_DARK, ORANGE, TEAL, VIOLET
from headlight.app.figures.layout import Axis, Colours, Plot, quantities
from headlight.app.figures.text import escape, hover, measured, quantity

Colour = Literal["blue", "orange", "grey", "light grey", "violet", "teal"]
Look = tuple[Colour, str]  # and how a line is broken
GROUP = 0.75  # of the room of a place that its bars take together
LEAST_WRITTEN = 0.05  # of a map's scale: a smaller number is told where it is pointed at
MAX_INTERVALS = 300  # heads of which a plot of points draws them
COLOURS: dict[Colour, str] = {"blue": BLUE, "orange": ORANGE, "grey": GREY, "light grey": FAINT}
COLOURS |= {"violet": VIOLET, "teal": TEAL}
# Told apart by their lines and marks: a hue is of what is measured, not of whose it is.
SIDES: Mapping[str, Look] = {"A": ("blue", "solid"), "B": ("blue", "dash"), "B − A": ("grey", "dot")}
DASHES = ("solid", "dash", "dot")


def _side(name: str) -> Look:
    return SIDES.get(name, SIDES["A"])


def plain(values: Any) -> list[Any]:
    """Numbers as lists, None where there is none."""
    numbers = np.asarray(values, dtype=np.float64)
    objects = numbers.astype(object)
    objects[~np.isfinite(numbers)] = None
    return objects.tolist()


def lines(
    series: Mapping[str, np.ndarray],
    layers: Sequence[str],
    *,
    title: str,
    unit: str,
    what: str = "",
    along: str = "after layer",
    alone: str = "",
    faint: np.ndarray | None = None,
    faint_name: str = "",
    words: Mapping[str, Sequence[str]] | None = None,
    log: bool = False,
    looks: Mapping[str, Look] | None = None,
) -> Plot:
    """A line a side [place], over any number of `faint` ones [line, place]; `words` tell more at each place.

    `alone` is what the line of the side without a name is called. `looks` are those of lines that are no sides.
    """
    traces = [] if faint is None or not faint.size else [_faint_lines(faint, faint_name)]
    for side, values in series.items():
        if not np.isfinite(values).any():
            continue
        name, more = side or alone, (words or {}).get(side, ())
        texts = [
            hover([f"{along} {layer}", f"{name}: {quantity(value, unit)}", *more[place : place + 1]])
            for place, (layer, value) in enumerate(zip(layers, values.tolist(), strict=False))
        ]
        traces.append(_line(name, values, (looks or {}).get(side) or _side(side), texts))
    if len(traces) == 1 and "" in series:  # the title says what it is
        traces[0]["showlegend"] = False
    return Plot(title, Axis(along, layers), quantities(what, unit, log), traces)


def _faint_lines(values: np.ndarray, name: str) -> dict[str, Any]:
    ends = np.concatenate([values, np.full((len(values), 1), np.nan)], axis=1)  # a gap after each
    x = [*range(values.shape[1]), None] * len(values)
    look = {"color": FAINT, "width": 1}
    style = {"name": escape(name), "hoverinfo": "skip", "opacity": 0.5, "showlegend": bool(name)}
    return {"type": "scatter", "mode": "lines", "x": x, "y": plain(ends.ravel()), "line": look, **style}


def _line(name: str, values: np.ndarray, look: Look, texts: Sequence[str]) -> dict[str, Any]:
    colour, dash = look
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": list(range(len(values))),
        "y": plain(values),
        "name": escape(name),
        "showlegend": bool(name),
        "line": {"color": COLOURS[colour], "width": 2.5, "dash": dash},
        "cliponaxis": False,
        "hovertext": texts,
    }


@dataclass(frozen=True)
class Bars:
    """A number at every place, NaN where there is no bar."""

    name: str
    values: np.ndarray
    colour: Colour
    hatched: bool = False


def bars(series: Sequence[Bars], places: Sequence[str], *, title: str, unit: str, along: str = "layer") -> Plot:
    """Bars from zero, side by side over the middle of each place, whichever of them stand there."""
    width, offsets = _beside_each_other(np.array([np.isfinite(each.values) for each in series]))
    traces = [
        {
            "type": "bar",
            "width": width,
            "offset": offset.tolist(),
            "x": list(range(len(each.values))),
            "y": plain(each.values),
            "name": escape(each.name),
            "marker": {
                "color": COLOURS[each.colour],
                "pattern": {"shape": "/" if each.hatched else "", "fillmode": "overlay", "fgcolor": ON_DARK},
            },
            "hovertext": [
                hover([f"{along} {place}", f"{each.name}: {quantity(value, unit)}"])
                for place, value in zip(places, each.values.tolist(), strict=False)
            ],
        }
        for each, offset in zip(series, offsets, strict=True)
        if np.isfinite(each.values).any()
    ]
    return Plot(title, Axis(along, places), Axis(unit), traces)


def _beside_each_other(stands: np.ndarray) -> tuple[float, np.ndarray]:
    """One width for all bars and each bar's left end from its place, by which bars stand [series, place]."""
    together = stands.sum(0)
    width = GROUP / max(1, together.max(initial=0))
    return width, (stands.cumsum(0) - 1 - together / 2) * width


def cells(
    values: np.ndarray,
    rows: Axis,
    columns: Axis,
    *,
    title: str,
    unit: str,
    what: str = "",
    scale: Literal["linear", "log", "diverging"] = "linear",
    ends: tuple[float, float] | None = None,
    words: Sequence[Sequence[str]] | None = None,
    written: bool = False,
    height: int = 0,
) -> Plot:
    """A map [row, column] of colours; `words` tell more of a cell; with `written` these or its number stand in it.

    Colours begin at the first of the `ends` and end at the second; a diverging map's are as far from zero both ways.
    """
    finite = values[np.isfinite(values)]
    largest = float(np.abs(finite).max(initial=0.0)) or 1.0
    low, high = ends or ((-largest, largest) if scale == "diverging" else (0.0, largest))
    drawn = np.log10(np.clip(values, low, None)) if scale == "log" else values
    texts = _texts_of_cells(values, rows, columns, unit, words)
    trace = {"type": "heatmap", "z": plain(drawn), "hovertext": texts, "xgap": 1, "ygap": 1, "name": ""}
    if written:
        trace |= {"text": _written(values, high, words), "texttemplate": "%{text}"}
    name = measured(what, unit)
    colours = Colours(name, (low, high), scale == "diverging")
    if scale == "log":
        marks = np.geomspace(low, high, 5)
        at = np.log10(marks).tolist()
        colours = Colours(name, (at[0], at[-1]), False, at, [f"{mark:.3g}" for mark in marks])
    own = min(420, max(120, 24 * values.shape[0]))
    return Plot(title, columns, rows, [trace], colours, height or own)


def _written(values: np.ndarray, end: float, words: Sequence[Sequence[str]] | None) -> list[list[str]]:
    """The words, or two digits of the scale's end; a number that is next to nothing beside it is not written."""
    if words is not None:
        return [[escape(word) for word in row] for row in words]
    decimals = max(2, 1 - math.floor(math.log10(end)))
    least = LEAST_WRITTEN * end
    return [
        [f"{value:.{decimals}f}".replace("-", "−") if abs(value) >= least else "" for value in row] for row in values
    ]


def _texts_of_cells(
    values: np.ndarray, rows: Axis, columns: Axis, unit: str, words: Sequence[Sequence[str]] | None
) -> list[list[str]]:
    return [
        [
            hover(
                [
                    f"{rows.title} {rows.labels[at]}",
                    f"{columns.title} {columns.labels[place]}",
                    quantity(float(values[at, place]), unit) if np.isfinite(values[at, place]) else "none",
                    words[at][place] if words else "",
                ]
            )
            for place in range(values.shape[1])
        ]
        for at in range(values.shape[0])
    ]


def points(
    scores: Mapping[str, np.ndarray],
    *,
    title: str,
    unit: str,
    what: str = "",
    low: Mapping[str, np.ndarray] | None = None,
    high: Mapping[str, np.ndarray] | None = None,
    words: Mapping[str, Sequence[Sequence[str]]] | None = None,
    interval_name: str = "95%",
) -> Plot:
    """Every head [layer, head] as a point above its layer, in order from left to right, with its interval if any.

    Intervals of more heads than `MAX_INTERVALS` would be a band that hides the points: their tooltips alone have them.
    """
    traces = []
    has_bars = max(values.size for values in scores.values()) <= MAX_INTERVALS
    for name, values in scores.items():
        layers, heads = np.indices(values.shape)
        n_heads = values.shape[1]
        x = layers + (heads - (n_heads - 1) / 2) * 0.8 / n_heads
        colour = COLOURS[_side(name)[0]]
        symbol = {"A": "circle-open", "B": "circle"}.get(name, "diamond" if name else "circle")
        hovers = [
            hover(
                [
                    f"L{layer}H{head} {name}",
                    quantity(float(values[layer, head]), unit),
                    spelled(float(low[name][layer, head]), float(high[name][layer, head]), unit, interval_name)
                    if low and high
                    else "",
                    words[name][layer][head] if words else "",
                ]
            )
            for layer, head in np.ndindex(*values.shape)
        ]
        trace = {"type": "scatter", "mode": "markers", "name": escape(name), "showlegend": bool(name)}
        trace |= {"x": plain(x.ravel()), "y": plain(values.ravel()), "hovertext": hovers}
        trace |= {"marker": {"color": colour, "symbol": symbol, "size": 7}}
        if low and high and has_bars:
            trace["error_y"] = interval(values.ravel(), low[name].ravel(), high[name].ravel())
        traces.append(trace)
    n_layers = max(len(values) for values in scores.values())
    return Plot(title, Axis("layer", [f"L{layer}" for layer in range(n_layers)]), Axis(measured(what, unit)), traces)


def spelled(low: float, high: float, unit: str, name: str = "95%") -> str:
    """An interval in words; nothing where there is none."""
    return f"{name}: {quantity(low, unit)} to {quantity(high, unit)}" if np.isfinite([low, high]).all() else ""


def interval(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> dict[str, Any]:
    """Bars from the lower to the upper ends of values' intervals, as Plotly's error bars."""
    ends = {"array": plain(high - values), "arrayminus": plain(values - low)}
    return {"type": "data", "symmetric": False, "thickness": 1, "width": 2, **ends}


def counts(values: np.ndarray, *, title: str, unit: str, y_title: str, share: float = 1.0) -> Plot:
    """Histogram with equal bins; the share of each is shown on hover."""
    trace = {"type": "histogram", "x": plain(values), "nbinsx": 20, "marker": {"color": BLUE}, "hoverinfo": "x+y"}
    whole = Axis(y_title, step=max(1, len(values) // 20))
    return Plot(title, Axis(unit), whole, [{**trace, "name": "", "showlegend": False}], share=share)


def curves(
    series: Mapping[str, tuple[np.ndarray, np.ndarray]],
    *,
    title: str,
    unit: str,
    log: bool = False,
    log_steps: bool = False,
    marks: Sequence[float] = (),
) -> Plot:
    """Line for each name through its values along a training run: (steps, values).

    `log` and `log_steps` make an axis logarithmic; at `marks`, steps too, thin lines stand from 0 to 1.
    """
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": escape(name),
            "x": plain(steps),
            "y": plain(values),
            "line": {"dash": DASHES[place % len(DASHES)]},
            "hovertext": [
                hover([f"step {step:,.0f}", f"{name}: {quantity(value, unit)}"])
                for step, value in zip(steps.tolist(), values.tolist(), strict=True)
            ],
        }
        for place, (name, (steps, values)) in enumerate(series.items())
    ]
    if marks:
        upright = {"x": [x for mark in marks for x in (mark, mark, None)], "y": [0, 1, None] * len(marks)}
        look = {"line": {"color": FAINT, "width": 1}, "hoverinfo": "skip", "showlegend": False, "name": ""}
        traces.append({"type": "scatter", "mode": "lines", "opacity": 0.5, **upright, **look})
    x, y = Axis("step", kind="log" if log_steps else "linear"), Axis(unit, kind="log" if log else "linear")
    return Plot(title, x, y, traces)
