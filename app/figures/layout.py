"""Plots in rows in one figure: where each lies, its axes, legend and colour bar, in the light or the dark template."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from headlight.app.figures.colours import BLUE, DARK, GREY, LIGHT, TEAL, VIOLET, Palette
from headlight.app.figures.text import LONGEST, LONGEST_ROW, escape, letters, measured, number, short
from headlight.app.figures.tokens import size, tokens

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Trace = Mapping[str, Any]

TICK, CAPTION, FIGURE = map(size, ("tick", "caption", "figure"))
SHARES = ("probability", "Jaccard")  # units whose axis ends at 1, in percent
CLEAR = "rgba(0,0,0,0)"
WIDTH = 900  # pixels of a figure that its labels are laid out for; it is drawn as wide as there is room
LETTER, NARROW_LETTER = 6.5, 5.0  # pixels of a letter, and of one in words of narrow ones
TITLE, TITLE_LINE, LEGEND_LINE, COLOUR_BAR, AXIS, GAP = 30, 18, 26, 46, 44, 20  # pixels
LONGEST_TITLE, LONGEST_NAME = 48, 40  # letters of a line of a title, and of an axis' name, which a phone has room for
PHONE = 320  # pixels that a phone has for the legend of a plot that has a row for itself
BESIDE_ROWS = 170  # pixels that a phone has beside long names of rows
MANY = 20  # counted places or layers, of which Plotly names as many as the window has room for
EVERY = 5  # of many that are counted behind another, such as the embedding, has its name
CLOSEST = 14  # pixels between two labels along an axis
ROUND = [float(f"{digit}e{power}") for power in range(-6, 10) for digit in (1, 2, 5)]  # along a logarithmic axis


@dataclass(frozen=True)
class Axis:
    """Axis of a plot, with its unit; with `labels` its places are the integers from 0, or `at` these.

    `ends` are then where it begins and ends. The title of an axis along the bottom is `at_end` of a wide plot whose
    right end a phone shows first.
    """

    title: str
    labels: Sequence[str] = ()
    kind: Literal["linear", "log", "percent"] = "linear"
    down: bool = False  # the first place on top
    from_zero: bool = False
    at: Sequence[float] = ()
    ends: tuple[float, float] | None = None
    step: int = 0  # between two ticks, where only whole numbers are to have one
    at_end: bool = False


def quantities(what: str, unit: str, log: bool = False) -> Axis:
    """The axis of a quantity, from zero on or logarithmic; probabilities are percentages."""
    kind: Literal["linear", "log", "percent"] = "log" if log else "percent" if unit in SHARES else "linear"
    return Axis(measured(what, unit), kind=kind, from_zero=not log)


@dataclass(frozen=True)
class Colours:
    """Colour scale of a map: the values at its ends and, for a logarithm, the labels of its ticks."""

    title: str
    ends: tuple[float, float]
    diverging: bool = False
    ticks: Sequence[float] = ()
    read_as: Sequence[str] = ()


@dataclass(frozen=True)
class Plot:
    """One plot of a figure: its traces as Plotly's dictionaries, which name no axis."""

    title: str
    x: Axis
    y: Axis
    traces: Sequence[Trace]
    colours: Colours | None = None
    height: int = 220  # pixels of what the axes enclose
    share: float = 1.0  # of its row's width, beside the others'


def template(palette: Palette) -> dict[str, Any]:
    """A theme for every figure, as Plotly's dictionary."""
    axis = {
        "gridcolor": palette.border,
        "zerolinecolor": palette.faded,
        "zerolinewidth": 1,
        "tickfont": {"size": TICK, "color": palette.faded},
        "title": {"font": {"size": CAPTION, "color": palette.faded}, "standoff": 10},
        "automargin": True,
        "showline": False,
    }
    return {
        "layout": {
            "paper_bgcolor": palette.background,
            "plot_bgcolor": palette.background,
            "font": {"family": tokens()["sans"], "size": CAPTION, "color": palette.text},
            "colorway": [BLUE, VIOLET, TEAL, GREY],
            "colorscale": {
                "sequential": _stops(palette.sequential),
                "sequentialminus": _stops(palette.sequential),
                "diverging": _stops(palette.diverging),
            },
            "hoverlabel": {
                "bgcolor": palette.secondary,
                "bordercolor": palette.border,
                "font": {"color": palette.text},
                "align": "left",
            },
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": palette.faded, "activecolor": palette.text},
            "xaxis": axis,
            "yaxis": axis,
            "hovermode": "closest",
            "barmode": "group",
            "bargap": 0.25,
        }
    }


def _stops(colours: Sequence[str]) -> list[list[Any]]:
    return [[place / (len(colours) - 1), colour] for place, colour in enumerate(colours)]


TEMPLATES = {False: template(LIGHT), True: template(DARK)}  # by whether it is dark


def beside(row: Sequence[Plot], dark: bool = False) -> list["Figure"]:
    """The plots of a row as figures of their own, for columns that go below each other where there is no room."""
    head = max(_head(plot, [plot]) for plot in row)
    return [figure([[plot]], dark, _width(plot, row), head) for plot in row]


def figure(rows: Sequence[Sequence[Plot]], dark: bool = False, width: float = WIDTH, head: int = 0) -> "Figure":
    """The plots as one figure, row by row, laid out for a width and with at least such a head over each row."""
    from plotly.graph_objects import Figure

    rows = [row for row in rows if row]
    heads = [max(head, *(_head(plot, row) for plot in row)) for row in rows]
    heights = [
        round(over + max(plot.height + _foot(plot, row, width) for plot in row))
        for over, row in zip(heads, rows, strict=True)
    ]
    heights[-1:] = [last - GAP for last in heights[-1:]]  # what stands below has its own
    total = sum(heights)
    layout: dict[str, Any] = {
        "template": TEMPLATES[dark],
        "height": total or None,
        "margin": {"l": 8, "r": 8, "t": 0, "b": 0, "autoexpand": True},
        "annotations": [],
        "showlegend": True,
    }
    traces: list[dict[str, Any]] = []
    top, slot = float(total), 0
    for row, over, height in zip(rows, heads, heights, strict=True):
        for plot, across in zip(row, _across(row), strict=True):
            slot += 1
            upper = top - over
            down = ((upper - plot.height) / total, upper / total)
            layout |= _axes(plot, slot, across, down, width)
            layout["annotations"].append(_title(plot, across[0], (top - 4) / total))
            if plot.x.at_end:
                layout["annotations"].append(_name_at_end(plot.x, across[1], max(0.0, top - height) / total, dark))
            layout |= _key(plot, slot, across, (upper + 4) / total, dark)
            traces += [_placed(trace, slot, plot) for trace in plot.traces]
        top -= height
    return Figure({"data": traces, "layout": layout})


def _head(plot: Plot, row: Sequence[Plot]) -> int:
    """Pixels over a plot: for its title, and for its legend or its colour bar."""
    title = TITLE + TITLE_LINE * (len(_lines(plot.title, LONGEST_TITLE)) - 1)
    named = [str(trace["name"]) for trace in plot.traces if trace.get("showlegend", True)]
    entries = [(len(name) + 8) * LETTER for name in named]
    is_beside_long = letters(plot.y.labels, LONGEST_ROW) > LONGEST
    wide = BESIDE_ROWS if is_beside_long else PHONE if len(row) == 1 else _width(plot, row)
    columns = len(named) if sum(entries) <= wide else max(1, wide // max(entries))  # as wide as the longest, in lines
    lines = math.ceil(len(named) / columns) if named and plot.colours is None else 0
    legend = LEGEND_LINE + TITLE_LINE * (lines - 1) if lines else 0
    return round(title + legend + (COLOUR_BAR if plot.colours else 0))


def _foot(plot: Plot, row: Sequence[Plot], width: float) -> float:
    """Pixels under a plot: for its axis, whose labels stand upright where they have no room."""
    room = AXIS + GAP + TITLE_LINE * (len(_lines(plot.x.title, LONGEST_NAME)) - 1)
    if _is_counted(plot.x.labels[1:]):
        return room
    longest = letters(plot.x.labels)
    all_of_them = sum(letters([each]) for each in plot.x.labels) if plot.x.at else len(plot.x.labels) * longest
    upright = all_of_them * LETTER > 0.8 * _width(plot, row, width)
    return room + (LETTER * longest if upright else 0)


def _width(plot: Plot, row: Sequence[Plot], width: float = WIDTH) -> float:
    return width * plot.share / sum(each.share for each in row)


def _across(row: Sequence[Plot]) -> list[tuple[float, float]]:
    """Each plot's left and right end as a share of the figure's width, with room for the labels on its left."""
    whole, left, ends = sum(plot.share for plot in row), 0.0, []
    for place, plot in enumerate(row):
        longest = letters(plot.y.labels, LONGEST_ROW) or 5
        room = (longest * LETTER + 36) / WIDTH if place else 0.0  # before the first there is the margin
        right = left + plot.share / whole
        ends.append((left + room, right - 0.01))
        left = right
    return ends


def _axes(
    plot: Plot, slot: int, across: tuple[float, float], down: tuple[float, float], width: float
) -> dict[str, Any]:
    wide = (across[1] - across[0]) * width
    return {
        _name("xaxis", slot): {"domain": across, "anchor": _name("y", slot), **_axis(plot.x, wide, LONGEST)},
        _name("yaxis", slot): {"domain": down, "anchor": _name("x", slot), **_axis(plot.y, plot.height, LONGEST_ROW)},
    }


def _axis(axis: Axis, pixels: float, most: int) -> dict[str, Any]:
    name = "" if axis.at_end else "<br>".join(map(escape, _lines(axis.title, LONGEST_NAME)))
    look: dict[str, Any] = {"title": {"text": name}}
    if _is_counted(axis.labels):
        ends, prefix = (-0.5, len(axis.labels) - 0.5), axis.labels[0].removesuffix("0")
        look |= {"range": ends, "tickprefix": escape(prefix), "showgrid": False, "zeroline": False}
    elif axis.labels:
        step = max(1, round(CLOSEST * len(axis.labels) / pixels + 0.49))
        places = list(range(0, len(axis.labels), step))
        if _is_counted(axis.labels[1:]):
            places = [0, *range(1 + EVERY, len(axis.labels), EVERY)]
        ends = axis.ends or (-0.5, len(axis.labels) - 0.5)
        look |= {
            "tickmode": "array",
            "tickvals": [axis.at[place] for place in places] if axis.at else places,
            "ticktext": [short(axis.labels[place], most) for place in places],
        }
        look |= {"range": ends[::-1] if axis.down else ends, "showgrid": False, "zeroline": False}
    elif axis.kind == "log":
        look |= {"type": "log", "tickmode": "array", "tickvals": ROUND, "ticktext": [_round(each) for each in ROUND]}
    else:
        look |= {"tickformat": ".2~%", "maxallowed": 1} if axis.kind == "percent" else {}
        look |= {"rangemode": "tozero"} if axis.from_zero else {}
        look |= {"dtick": axis.step} if axis.step else {}
    return look


def _is_counted(labels: Sequence[str]) -> bool:
    """Whether these are many, each no more than its number behind what all have in common."""
    prefix = labels[0].removesuffix("0") if labels else ""
    return len(labels) > MANY and all(label == f"{prefix}{place}" for place, label in enumerate(labels))


def _round(tick: float) -> str:
    return f"{tick:,.0f}" if tick >= 1e4 else number(tick)


def _title(plot: Plot, x: float, y: float) -> dict[str, Any]:
    """Title of a plot, which begins where the names of its rows do."""
    place = {"x": x, "y": y, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "top"}
    left = -NARROW_LETTER * letters(plot.y.labels, LONGEST_ROW)
    look = {"showarrow": False, "font": {"size": FIGURE, "weight": 600}, "xshift": left}
    return {"text": "<br>".join(map(escape, _lines(plot.title, LONGEST_TITLE))), "align": "left", **look, **place}


def _name_at_end(axis: Axis, x: float, y: float, dark: bool) -> dict[str, Any]:
    """What an axis is called, under its end."""
    place = {"x": x, "y": y, "xref": "paper", "yref": "paper", "xanchor": "right", "yanchor": "bottom"}
    font = TEMPLATES[dark]["layout"]["xaxis"]["title"]["font"]
    return {"text": escape(axis.title), "showarrow": False, "font": font, **place}


def _lines(text: str, longest: int) -> list[str]:
    """Lines of a text that are about as long as each other."""
    n_lines = max(1, math.ceil(len(text) / longest))
    return textwrap.wrap(text, min(longest, len(text) // n_lines + 6), break_on_hyphens=False) or [""]


def _key(plot: Plot, slot: int, across: tuple[float, float], bottom: float, dark: bool) -> dict[str, Any]:
    """Legend of a plot: the bar of its map, or the names of its traces, which switch them."""
    if plot.colours is None:
        place = {"x": across[0], "y": bottom, "xanchor": "left", "yanchor": "bottom"}
        return {_name("legend", slot): {"orientation": "h", "font": {"size": TICK}, "bgcolor": CLEAR, **place}}
    scale = TEMPLATES[dark]["layout"]["colorscale"]["diverging" if plot.colours.diverging else "sequential"]
    bar: dict[str, Any] = {
        "orientation": "h",
        "x": (across[0] + across[1]) / 2,
        "y": bottom,
        "yanchor": "bottom",
        "ypad": 0,
        "len": across[1] - across[0],
        "thickness": 8,
        "outlinewidth": 0,
        "tickfont": {"size": TICK},
        "title": {"text": escape(plot.colours.title), "side": "top", "font": {"size": TICK}},
    }
    if plot.colours.ticks:
        bar |= {"tickmode": "array", "tickvals": list(plot.colours.ticks), "ticktext": list(plot.colours.read_as)}
    low, high = plot.colours.ends
    return {_name("coloraxis", slot): {"colorscale": scale, "cmin": low, "cmax": high, "colorbar": bar}}


def _placed(trace: Trace, slot: int, plot: Plot) -> dict[str, Any]:
    """A trace on its plot's axes, which tells where it is pointed at the text that it has for that."""
    axes = {"xaxis": _name("x", slot), "yaxis": _name("y", slot)}
    key: dict[str, Any] = {"legend": _name("legend", slot)}
    if plot.colours is not None:
        key = {"coloraxis": _name("coloraxis", slot)}
        if trace["type"] == "scatter":  # whose points are coloured, if their colours are numbers
            key = {"marker": {**trace.get("marker", {}), **key}}
    return {"hoverinfo": "text", **trace, **axes, **key}


def _name(kind: str, slot: int) -> str:
    return kind if slot == 1 else f"{kind}{slot}"
