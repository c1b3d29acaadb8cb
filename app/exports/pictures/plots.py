"""Plots and lists of bars as pictures: the traces that Plotly shows, drawn by matplotlib."""

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from headlight.app.exports.drawings import BarList
from headlight.app.exports.pictures.axes import (
    LETTER,
    THOUSANDS,
    colour_bar,
    letters,
    number,
    room,
    short,
    title,
    write,
)
from headlight.app.exports.style import Palette, colour_map
from headlight.app.figures import Axis, Plot
from headlight.app.figures.graph import LABEL_WIDTH
from headlight.app.figures.layout import Trace
from headlight.app.figures.text import LONGEST, LONGEST_ROW

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import SubFigure

PIXELS = 96  # of the page an inch
PLOT = 3.8  # inches across where labels do not ask for more
PITCH = 0.16  # inches that a label wants along the axis
WIDEST = 12.0  # inches
AROUND = 0.8  # inches above and below: title, axis, legend
GROUP = 0.75  # of the room between two places that their bars have
NO_BREAKS = {"solid": "-", "dash": "--", "dot": ":"}
MARKERS = {"circle": "o", "square": "s", "diamond": "D", "star": "*", "triangle-up": "^", "circle-open": "o"}
LEGEND_COLUMNS, LEGEND_INCHES = 4, 0.95  # most of them, and what one takes
CLEAR = "none"


def size(plot: Plot) -> tuple[float, float]:
    """Inches across and down."""
    wide = max(PLOT, min(WIDEST, PITCH * len(plot.x.labels)))
    if plot.x.at:  # places that are no places of a row: they and the names of marks are laid out for a width
        wide = LABEL_WIDTH / PIXELS
    upright = letters(plot.x.labels, LONGEST) if _is_upright(plot.x, wide) else 0.0
    legend = 0.16 * _legend_lines(plot)
    bar = 0.5 * (plot.colours is not None)
    return wide + letters(plot.y.labels, LONGEST_ROW) + 0.4, plot.height / PIXELS + AROUND + upright + legend + bar


def _is_upright(axis: Axis, inches: float) -> bool:
    if axis.at and axis.ends:
        room = np.diff(axis.at) * inches / (axis.ends[1] - axis.ends[0])
        return bool(np.any(room < [LETTER * (len(short(label, LONGEST)) + 2) for label in axis.labels[1:]]))
    return sum(len(short(label, LONGEST)) + 2 for label in axis.labels) * LETTER > inches


def _legend_lines(plot: Plot, columns: int = LEGEND_COLUMNS) -> int:
    return -(-len(_named(plot)) // columns)


def _named(plot: Plot) -> list[Trace]:
    """The traces of a legend, which one that the title names does not need."""
    named = [trace for trace in plot.traces if trace.get("showlegend", True) and trace.get("name")]
    return [] if len(named) == 1 and html.unescape(str(named[0]["name"])) in plot.title else named


def draw(plot: Plot, figure: "SubFigure", palette: Palette) -> None:
    """Its traces on its axes, with the legend or the colour bar."""
    axes = figure.subplots()
    bars = [trace for trace in plot.traces if trace["type"] == "bar"]
    coloured: ScalarMappable | None = None
    for trace in plot.traces:
        match trace["type"]:
            case "bar":
                _bars(axes, trace, next(slot for slot, one in enumerate(bars) if one is trace), len(bars), palette)
            case "heatmap":
                coloured = _heatmap(axes, plot, trace, palette)
            case "histogram":
                axes.hist(_numbers(trace["x"]), bins=trace["nbinsx"], color=trace["marker"]["color"])
            case _:
                coloured = _points(axes, plot, trace, palette) or coloured
    across = min(size(plot)[0], room(axes))
    _axis(axes, "x", plot.x, across)
    _axis(axes, "y", plot.y, plot.height / PIXELS)
    axes.spines[["top", "right"]].set_visible(False)
    beside = across - letters(plot.y.labels, LONGEST_ROW)
    columns = max(1, min(LEGEND_COLUMNS, int(beside / LEGEND_INCHES)))
    title(axes, plot.title, "", beside, palette, _legend_lines(plot, columns) + (columns < LEGEND_COLUMNS))
    if named := _named(plot):
        look = {"fontsize": 6.5, "ncols": min(columns, len(named)), "handlelength": 2.4}
        look |= {"borderpad": 0, "borderaxespad": 0.5, "labelspacing": 0.35}
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), **look)
    if coloured is not None and plot.colours is not None:
        marks = list(plot.colours.ticks) or np.linspace(*plot.colours.ends, 5).tolist()
        colour_bar(figure, coloured, [axes], plot.colours.title, marks, plot.colours.read_as)


def size_of_list(drawn: BarList) -> tuple[float, float]:
    """Inches across and down."""
    return size(drawn.plot)


def draw_list(drawn: BarList, figure: "SubFigure", palette: Palette) -> None:
    """The bars from the top down, with their texts beside them."""
    draw(drawn.plot, figure, palette)


def _numbers(values: Sequence[float | None]) -> Float[np.ndarray, " value"]:
    return np.array(values, dtype=float)  # None is NaN


def _name(trace: Trace) -> str:
    return html.unescape(str(trace.get("name", ""))) if trace.get("showlegend", True) else "_"


def _bars(axes: "Axes", trace: Trace, slot: int, n_bars: int, palette: Palette) -> None:
    """One series of bars, beside those of the other series."""
    upright = trace.get("orientation") != "h"
    along, sizes = (_numbers(trace[name]) for name in ("xy" if upright else "yx"))
    if "offset" in trace:
        thick = trace["width"]
        centres = along + np.array(trace["offset"]) + thick / 2
    else:
        thick = GROUP / n_bars * _spacing(along)
        centres = along + thick * (slot - (n_bars - 1) / 2)
    marker = trace.get("marker", {})
    colours, line = marker.get("color", palette.bars[0]), marker.get("line", {})
    looks: dict[str, Any] = {
        "color": [_colour(colour) for colour in colours] if isinstance(colours, list) else _colour(colours),
        "label": _name(trace),
        "hatch": "////" if marker.get("pattern", {}).get("shape") else None,
        "edgecolor": line.get("color", CLEAR),
        "linewidth": line.get("width", 0) / 2,
    }
    there = np.isfinite(sizes)
    if not there.all():
        looks |= {
            name: np.array(each, dtype=object)[there].tolist() for name, each in looks.items() if isinstance(each, list)
        }
    start = _numbers(trace.get("base") or [0.0] * len(sizes))
    if upright:
        axes.bar(centres[there], sizes[there], thick, bottom=start[there], **looks)
        axes.axhline(0, color=palette.border, linewidth=0.6)
    else:
        axes.barh(centres[there], sizes[there], thick, left=start[there], **looks)
        axes.axvline(0, color=palette.border, linewidth=0.6)
    for place in np.flatnonzero(there) if trace.get("text") else ():
        end, text = start[place] + sizes[place], html.unescape(str(trace["text"][place]))
        ha = "left" if sizes[place] >= 0 else "right"
        axes.text(end, centres[place], f" {text} ", fontsize=6, va="center", ha=ha, color=palette.text)


def _spacing(along: Float[np.ndarray, " place"]) -> float:
    """Space that bars at these places may take."""
    places = np.unique(along)
    return float(np.diff(places).min()) if len(places) > 1 else 1.0


def _colour(colour: str) -> str | tuple[float, ...]:
    """Plotly's colour as matplotlib's; invisible ones have none."""
    if not colour.startswith("rgba("):
        return colour
    *rgb, alpha = map(float, colour[len("rgba(") : -1].split(","))
    return (*(channel / 255 for channel in rgb), alpha) if alpha else CLEAR


def _heatmap(axes: "Axes", plot: Plot, trace: Trace, palette: Palette) -> "ScalarMappable":
    from matplotlib.colors import Normalize

    assert plot.colours is not None
    values = np.array(trace["z"], dtype=float)
    image = axes.imshow(
        np.ma.masked_invalid(values),
        cmap=colour_map(palette, plot.colours.diverging),
        norm=Normalize(*plot.colours.ends),
        interpolation="none",
        aspect="auto",
        origin="lower",
    )
    axes.patch.set_facecolor(palette.secondary)
    if texts := trace.get("text"):
        write(image, values, palette, lambda row, column, _: html.unescape(str(texts[row][column])), fontsize=6)
    return image


def _points(axes: "Axes", plot: Plot, trace: Trace, palette: Palette) -> "ScalarMappable | None":
    """Lines, points and their texts; returns the points that a colour bar explains."""
    x, y, mode, marker = _numbers(trace["x"]), _numbers(trace["y"]), trace["mode"], trace.get("marker", {})
    line, label, opacity = trace.get("line", {}), _name(trace), trace.get("opacity", 1.0)
    if "lines" in mode:
        axes.plot(
            x,
            y,
            linestyle=NO_BREAKS[line.get("dash", "solid")],
            color=_colour(line["color"]) if "color" in line else None,
            linewidth=line.get("width", 2) / 2,
            alpha=opacity,
            marker="o" if "markers" in mode else None,
            markersize=3,
            label=label,
        )
        return None
    if "error_y" in trace:
        ends = trace["error_y"]
        spread = [_numbers(ends[name]) for name in ("arrayminus", "array")]
        axes.errorbar(x, y, yerr=np.nan_to_num(spread), fmt="none", ecolor=palette.faded, elinewidth=0.6)
    for place, text in enumerate(trace.get("text") or ()):
        right = "left" in trace.get("textposition", "")
        axes.annotate(
            html.unescape(str(text)),
            (x[place], y[place]),
            xytext=(0, 7 if "top" in trace.get("textposition", "") else 0),
            textcoords="offset points",
            fontsize=7,
            ha="right" if right else "center" if "top" in trace.get("textposition", "") else "left",
            va="bottom" if "top" in trace.get("textposition", "") else "center",
        )
    return _markers(axes, plot, x, y, marker, label, palette) if "markers" in mode else None


def _markers(
    axes: "Axes", plot: Plot, x: Any, y: Any, marker: dict[str, Any], label: str, palette: Palette
) -> "ScalarMappable | None":
    from matplotlib.colors import Normalize

    colours, symbols = marker.get("color", palette.bars[0]), marker.get("symbol", "circle")
    areas = np.square(np.broadcast_to(marker.get("size", 6), x.shape) * 0.75)
    if plot.colours is not None and isinstance(colours, list):
        norm, colour_of = Normalize(*plot.colours.ends), colour_map(palette, plot.colours.diverging)
        edge: dict[str, Any] = {"edgecolors": palette.faded, "linewidths": 0.4}
        return axes.scatter(x, y, s=areas, c=np.nan_to_num(_numbers(colours)), cmap=colour_of, norm=norm, **edge)
    kinds = np.broadcast_to(np.array(symbols, dtype=object), x.shape)
    own = np.broadcast_to(np.array(colours, dtype=object), x.shape)
    for symbol in dict.fromkeys(kinds.tolist()):
        is_kind = kinds == symbol
        hollow = str(symbol).endswith("-open")
        shape = MARKERS.get(str(symbol).removesuffix("-open"), "o")
        axes.scatter(
            x[is_kind],
            y[is_kind],
            s=areas[is_kind],
            marker=shape,
            facecolors=CLEAR if hollow else own[is_kind].tolist(),
            edgecolors=own[is_kind].tolist() if hollow else palette.faded,
            linewidths=1.4 if hollow else 0.4,
            alpha=marker.get("opacity", 1.0),
            label=label,
            zorder=2,
        )
    return None


def _axis(axes: "Axes", which: str, axis: Axis, inches: float) -> None:
    from matplotlib.ticker import PercentFormatter

    ruler = axes.xaxis if which == "x" else axes.yaxis
    ruler.set_label_text(axis.title, fontsize=7)
    ends = axes.set_xlim if which == "x" else axes.set_ylim
    if axis.labels:
        step = max(1, round(0.11 * len(axis.labels) / inches + 0.49))
        places = list(range(0, len(axis.labels), step))
        texts = [short(axis.labels[place], LONGEST if which == "x" else LONGEST_ROW) for place in places]
        ruler.set_ticks([axis.at[place] for place in places] if axis.at else places, texts, fontsize=7)
        low, high = axis.ends or (-0.5, len(axis.labels) - 0.5)
        ends(*((high, low) if axis.down else (low, high)))
        if which == "x" and _is_upright(axis, inches):
            axes.tick_params(axis="x", rotation=90)
    elif axis.kind == "log":
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        ruler.set_major_formatter(lambda value, _: number(value))
        ruler.set_minor_formatter(lambda value, _: "")
    elif axis.kind == "percent":
        ruler.set_major_formatter(PercentFormatter(1.0))
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    if axis.from_zero:
        ends(min(0.0, low), max(0.0, high))
    if axis.kind == "percent" and high > 1:  # as on the page
        ends(min(0.0, low) if axis.from_zero else low, 1.0)
    if axis.kind == "linear" and not axis.labels and high >= THOUSANDS:
        ruler.set_major_formatter(lambda value, _: number(value))
