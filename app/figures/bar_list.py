"""List of bars as a plot: most likely tokens, or effects that add up, with texts beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headlight.app.figures.colours import BLUE, GREY, ON_LIGHT, ORANGE
from headlight.app.figures.layout import SHARES, TICK, Axis, Plot, quantities
from headlight.app.figures.text import escape, hover, quantity

BAR = 22  # pixels of a bar in a list of them
FULL = 0.85  # a share whose bar has its text inside: an axis of shares ends at 1
ROOM = 0.34  # of the scale, for what stands beside the bars' ends, also on a phone and in one of two columns


@dataclass(frozen=True)
class Row:
    """Bar in a list: start and end of each of its series, and the text beside it."""

    label: str
    spans: Sequence[tuple[float, float]]
    text: str = ""
    kind: Literal["", "sum", "rest"] = ""


def rows(
    listed: Sequence[Row],
    *,
    title: str,
    unit: str,
    what: str = "",
    series: Sequence[str] = ("",),
    reach: float = 0.0,
) -> Plot:
    """A list of bars from the top down, blue to the right and orange to the left; of two series the first is hollow.

    The scale goes from zero to the bars' ends, and as far as `reach`, which makes that of several plots one. Beside the
    bars of the last series stand the rows' texts.
    """
    y = Axis("", [row.label for row in listed], down=True)
    last = len(series) - 1
    traces = [_bars_of(listed, slot, name, slot < last, unit, beside=slot == last) for slot, name in enumerate(series)]
    # Points that are not seen make room for the texts behind the bars' ends.
    ends = [0.0, reach, *(end for row in listed for span in row.spans for end in span)]
    low, high = min(ends), max(ends)
    texts = [row.spans[-1] for row in listed if row.text] + [(0.0, reach)] * bool(reach)  # as beside the other plots'
    left = (end - ROOM * (high - low) for start, end in texts if end < start)
    right = (end + ROOM * (high - low) for start, end in texts if end >= start)
    far = [min([low, *left]), max([high, *right])]
    unseen = {"mode": "markers", "marker": {"opacity": 0}, "hoverinfo": "skip", "showlegend": False, "name": ""}
    traces.append({"type": "scatter", "x": far, "y": [0, 0], **unseen})
    return Plot(title, quantities(what, unit), y, traces, height=max(120, BAR * len(series) * len(listed)))


def _bars_of(listed: Sequence[Row], slot: int, name: str, hollow: bool, unit: str, beside: bool) -> dict[str, Any]:
    spans = [row.spans[slot] for row in listed]
    sizes = [end - start for start, end in spans]
    named = zip(listed, sizes, strict=True)
    colours = [GREY if row.kind else BLUE if size >= 0 else ORANGE for row, size in named]
    called = f"{name}: " if name else ""
    return {
        "type": "bar",
        "orientation": "h",
        "y": list(range(len(listed))),
        "x": sizes,
        "base": [start for start, _ in spans],
        "name": escape(name),
        "showlegend": bool(name),
        "marker": {
            "color": ["rgba(0,0,0,0)" if hollow else colour for colour in colours],
            "line": {"color": colours, "width": 1.5},
        },
        "text": [escape(row.text) for row in listed] if beside else None,
        "textposition": ["inside" if unit in SHARES and end > FULL else "outside" for _, end in spans],
        "textfont": {"size": TICK},
        "insidetextfont": {"size": TICK, "color": ON_LIGHT},
        "constraintext": "none",
        "cliponaxis": False,
        "hovertext": [
            hover([row.label, f"{called}{quantity(size, unit)}", row.text])
            for row, size in zip(listed, sizes, strict=True)
        ],
    }
