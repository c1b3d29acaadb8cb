"""The manual's table and plots, from the figures that `make bench` wrote: `make bench ARGS=plots`."""

import json
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import MaxNLocator

from tests.bench import forward, table
from tests.bench.report import REPORT

OURS = "#4f8fd0"
LINES = {  # colour, dash and marker of each line, which differ by more than colour
    forward.KEPT: (OURS, "-", "o"),
    forward.SDPA: ("#cc7722", "--", "s"),
    forward.SDPA_FAST: ("#cc7722", ":", "^"),
    forward.EAGER: ("#8c6bb1", "--", "D"),
    forward.BRIDGE: ("#3f9b5f", "-.", "v"),
    forward.HOOKED: ("#3f9b5f", "--", "P"),
}
GROWTH = {"tokens": "tokens", "layers": "layers, 64 tokens", "prompts": "prompts of 64 tokens"}
INK = {"light": "#31333f", "dark": "#fafafa"}
SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "headlight",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


@dataclass(frozen=True)
class Line:
    """Points that belong together."""

    name: str
    x: list[float]
    y: list[float]


def median_clock(costs: list[list[float]]) -> float:
    return statistics.median(clock for clock, _ in costs)


def forward_lines(turns: Mapping[str, Any]) -> Iterator[Line]:
    """Milliseconds of each against the number of tokens."""
    lengths = {int(title.split()[1]): those for title, those in turns.items() if title.startswith("forward, ")}
    for name in LINES:
        points = {n: 1000 * median_clock(those[name]) for n, those in lengths.items() if name in those}
        if points:
            yield Line(name, [float(n) for n in points], list(points.values()))


def growth_line(turns: Mapping[str, Any], what: str) -> Line:
    """Milliseconds against a size."""
    those = turns[f"growth, {what}"]
    return Line(what, [float(size) for size in those], [1000 * median_clock(costs) for costs in those.values()])


def memory_line(figures: list[dict[str, Any]]) -> Line:
    """Extra MB of a run against its number of tokens."""
    rows = [each for each in figures if each["part"] == "memory" and each["unit"] == "MB"]
    return Line("memory", [float(each["what"].split()[2]) for each in rows], [each["value"] for each in rows])


def draw_line(axes: Axes, line: Line, x: str, y: str, logarithmic: bool = True) -> None:
    """One line with its points, on axes that begin at nothing or are both logarithmic."""
    colour, dash, marker = LINES.get(line.name, (OURS, "-", "o"))
    axes.plot(line.x, line.y, color=colour, linestyle=dash, marker=marker, markersize=4, label=line.name)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if logarithmic:
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_major_formatter("{x:g}")
    else:
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylim(bottom=0)
    axes.grid(alpha=0.2)


def draw_forward(report: Mapping[str, Any]) -> Drawing:
    """Everybody's time for a pass, against the number of tokens."""
    drawing = Drawing(figsize=(7, 3.4), layout="constrained")
    axes = drawing.add_subplot()
    for line in forward_lines(report["turns"]):
        draw_line(axes, line, "tokens", "milliseconds")
    drawing.legend(loc="outside right upper", frameon=False, handlelength=3)
    return drawing


def draw_growth(report: Mapping[str, Any]) -> Drawing:
    """Headlight's time against tokens, layers and prompts, and its memory against tokens."""
    drawing = Drawing(figsize=(7, 5), layout="constrained")
    all_axes = drawing.subplots(2, 2).flat
    for axes, (what, label) in zip(all_axes, GROWTH.items(), strict=False):
        draw_line(axes, growth_line(report["turns"], what), label, "milliseconds", logarithmic=False)
    draw_line(drawing.axes[3], memory_line(report["figures"]), "tokens", "MB more, at most", logarithmic=False)
    return drawing


def save(drawing: Drawing, path: Path, theme: str) -> None:
    """An svg without a background, its text and axes in the theme's colour; the same figures give the same file."""
    ink = INK[theme]
    for axes in drawing.axes:
        axes.tick_params(colors=ink, which="both")
        axes.xaxis.label.set_color(ink)
        axes.yaxis.label.set_color(ink)
        for spine in axes.spines.values():
            spine.set_color(ink)
    for legend in drawing.legends:
        for text in legend.get_texts():
            text.set_color(ink)
    drawing.savefig(path, transparent=True, metadata={"Date": None})


def main(report: Path = REPORT, page: Path = table.BENCHMARKS) -> None:
    """Draw each plot for light and for dark pages, beside the figures, and put the table into the manual."""
    results = json.loads(report.read_text())
    table.put_into(page, table.markdown(results))
    with mpl.rc_context(SETTINGS):
        for name, draw in (("forward", draw_forward), ("growth", draw_growth)):
            for theme in INK:
                save(draw(results), report.parent / f"{name}-{theme}.svg", theme)


if __name__ == "__main__":
    main()
