"""A plot of a graph over tokens (across) and layers (upwards): nodes as marks, and the edges of one of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from headlight.app.figures.colours import BLUE, GREY, ORANGE
from headlight.app.figures.layout import CLOSEST, LETTER, TICK, Axis, Plot
from headlight.app.figures.text import LONGEST, escape, hover, token_name

ROWS = (20, 34)  # pixels of a layer's row, at least and at most
TALLEST = 720  # pixels that the rows share before they are narrower
SMALLEST, LARGEST = 6.0, 19.0  # pixels of a mark
SPACE = 3.1  # pixels of a space in a label
LABEL_ROOM = 0.5  # columns behind the last one, where its marks have labels
NARROW = 0.45  # of a mark's room, at most: a column that has its token alone, or what is not taken apart
BARE_SHARE = 0.25  # of the width, at most: all such columns, while others have nodes
END_LETTER = 5.5  # pixels of a letter as it is drawn: a label ends within the figure
LABEL_WIDTH = 660  # pixels of a plot on a phone, of which a part is in sight: labels have room there and everywhere
STEPS = 12  # of an edge's curve
UP = 0.32  # of a row: how far the lines of a cell stand from its middle
MAX_ABREAST = 10
FAINT_OPACITY = 0.3, 0.12  # of the edges behind, and where some are chosen before them
FEWEST_ROWS = 8
SYMBOLS = {"token": "square", "head": "diamond", "neuron": "circle", "feature": "circle", "logit": "star"}
REST = "triangle-up-open"
Beside = Literal["right", "left"]
Box = tuple[float, float, float, float]  # its left and right ends, its lower and upper ones


@dataclass(frozen=True)
class Mark:
    """A node: its kind, column and row, its size from 0 to 1, the sign of its effect, and its tooltip's lines.

    A row between two others is drawn between them. `label` stands beside the mark.
    """

    kind: str
    column: int
    row: float
    size: float
    sign: int
    lines: Sequence[str]
    is_rest: bool = False
    label: str = ""


@dataclass(frozen=True)
class Line:
    """An edge between two marks (their places), its sign, and how it is drawn: pixels, and opacity up to 1."""

    source: int
    target: int
    sign: int
    width: float = 1.8
    opacity: float = 0.9


@dataclass(frozen=True, eq=False)
class Scene:
    """Drawn parts of a graph: marks, faint lines under them, coloured lines over these, and the names.

    `chosen` is the place of the mark that has a ring and its name.
    """

    marks: Sequence[Mark]
    faint: Sequence[Line]
    lines: Sequence[Line]
    chosen: int | None
    columns: Sequence[str]
    rows: Sequence[str]
    along: str
    title: str


def graph(scene: Scene) -> Plot:
    """The marks over the lines; each mark's `customdata` is its place.

    Blue raises the target, orange lowers it; open triangles are what is not taken apart.
    """
    marks, laid = scene.marks, laid_out(scene.marks, len(scene.columns))
    at = laid.at
    traces = [_lines(at, scene.faint, GREY, 0.8, FAINT_OPACITY[bool(scene.lines)])]
    for sign, colour in ((1, BLUE), (-1, ORANGE)):
        looks = sorted({(line.width, line.opacity) for line in scene.lines}) or [(1.8, 0.9)]
        for look in looks:  # Plotly has one width and one opacity for each trace
            of_look = [line for line in scene.lines if line.sign == sign and (line.width, line.opacity) == look]
            traces.append(_lines(at, of_look, colour, *look))
    traces.append(_marks(at, marks))
    last = laid.end + LABEL_ROOM * any(mark.label and mark.column == len(scene.columns) - 1 for mark in marks)
    height = height_of(len(scene.rows))
    named = labelled(marks, at * [LABEL_WIDTH / last, height / len(scene.rows)], scene.chosen)
    if named:
        traces.append(_labels(at[list(named)], [marks[place] for place in named], list(named.values())))
    if scene.chosen is not None:
        chosen, is_right = marks[scene.chosen], at[scene.chosen, 0] > laid.end / 2
        traces.append(_ring(at[scene.chosen], chosen, is_right, is_named=scene.chosen in named))
    plain = [{**trace, "name": "", "showlegend": False} for trace in traces]
    margin = LARGEST / 2 * last / LABEL_WIDTH  # for the marks of a narrow first column
    ticks = _ticks(laid, LABEL_WIDTH / last)
    names = [token_name(scene.columns[column], column) for column in ticks]
    x = Axis(scene.along, names, at=[laid.columns[column] for column in ticks], ends=(-margin, last), at_end=True)
    return Plot(scene.title, x, Axis("", scene.rows), plain, height=height)


def height_of(n_rows: int) -> int:
    """Pixels of so many rows: as many as one sees at once, while names do not stand over one another."""
    rows = max(FEWEST_ROWS, n_rows)
    return rows * max(ROWS[0], min(ROWS[1], TALLEST // rows))


def _marks(at: np.ndarray, marks: Sequence[Mark]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": at[:, 0].tolist(),
        "y": at[:, 1].tolist(),
        "customdata": list(range(len(marks))),
        "hovertext": [hover(list(mark.lines)) for mark in marks],
        "cliponaxis": False,
        "marker": {
            "symbol": [REST if mark.is_rest else SYMBOLS.get(mark.kind, "circle") for mark in marks],
            "size": [_size(mark) for mark in marks],
            "color": [{1: BLUE, -1: ORANGE}.get(mark.sign, GREY) for mark in marks],
            "line": {"width": 1, "color": "rgba(128,128,128,0.7)"},
            "opacity": 1.0,
        },
    }


def _size(mark: Mark) -> float:
    return SMALLEST + (LARGEST - SMALLEST) * mark.size


def _clear_of(mark: Mark) -> str:
    """The spaces between a label and its mark's middle."""
    return "\u00a0" * round((_size(mark) / 2 + 2) / SPACE)


def _labels(at: np.ndarray, marks: Sequence[Mark], beside: Sequence[Beside]) -> dict[str, Any]:
    texts = [(_clear_of(mark), escape(mark.label)) for mark in marks]
    return {
        "type": "scatter",
        "mode": "text",
        "x": at[:, 0].tolist(),
        "y": at[:, 1].tolist(),
        "text": [
            f"{clear}{label}" if side == "right" else f"{label}{clear}"
            for (clear, label), side in zip(texts, beside, strict=True)
        ],
        "textposition": [f"middle {side}" for side in beside],
        "textfont": {"size": TICK},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }


@dataclass(frozen=True)
class Laid:
    """Layout: the position of each mark [mark, 2], the middle and the width of each column."""

    at: np.ndarray
    columns: Sequence[float]
    widths: Sequence[float]

    @property
    def end(self) -> float:
        """Where the last column ends."""
        return sum(self.widths)


def laid_out(marks: Sequence[Mark], n_columns: int) -> Laid:
    """The marks of a cell side by side, in as many lines as they need; a column is as wide as its fullest cell.

    Columns without a node, but for their token or what is not taken apart, are narrow and share at most a quarter of
    the width: of most predictions nearly all nodes stand at the last token.
    """
    cells: dict[tuple[int, float], list[int]] = {}
    for place, mark in enumerate(marks):
        cells.setdefault((mark.column, mark.row), []).append(place)
    fullest = [
        max((len(inside) for (at, _), inside in cells.items() if at == column), default=1)
        for column in range(n_columns)
    ]
    abreast = [min(count, MAX_ABREAST) for count in fullest]
    filled = {mark.column for mark in marks if mark.kind != "token" and not mark.is_rest}
    room = sum(abreast[column] for column in filled) * BARE_SHARE / (1 - BARE_SHARE)
    bare = min(NARROW, room / max(1, n_columns - len(filled))) if filled else NARROW
    widths = np.array([float(count) if column in filled else bare for column, count in enumerate(abreast)])
    middles = np.cumsum(widths) - widths / 2
    places = np.zeros((len(marks), 2))
    for (column, row), inside in cells.items():
        n_lines = -(-len(inside) // abreast[column])
        for slot, place in enumerate(inside):
            line, beside = divmod(slot, abreast[column])
            in_line = min(abreast[column], len(inside) - line * abreast[column])
            places[place] = middles[column] + beside - (in_line - 1) / 2, row + _spread(line, n_lines)
    return Laid(places, middles.tolist(), widths.tolist())


def labelled(marks: Sequence[Mark], pixels: np.ndarray, chosen: int | None = None) -> dict[int, Beside]:
    """The side on which a mark's label has room before other marks and labels, for each mark that has such a side.

    The chosen one is first, then the others in the marks' order. `pixels` [mark, 2] are where the marks stand.
    """
    radii = np.array([_size(mark) / 2 for mark in marks])
    taken = [(x - r, x + r, y - r, y + r) for (x, y), r in zip(pixels.tolist(), radii.tolist(), strict=True)]
    named: dict[int, Beside] = {}
    for place in sorted(range(len(marks)), key=lambda place: place != chosen):
        mark = marks[place]
        if not mark.label:
            continue
        x, y = pixels[place].tolist()
        room = radii[place] + 1, radii[place] + 1 + LETTER * min(len(mark.label), LONGEST)
        boxes: dict[Beside, Box] = {
            "right": (x + room[0], x + room[1], y - TICK / 2, y + TICK / 2),
            "left": (x - room[1], x - room[0], y - TICK / 2, y + TICK / 2),
        }
        for side, box in boxes.items():
            end = box[0] + END_LETTER * min(len(mark.label), LONGEST)
            if box[0] >= 0 and end <= LABEL_WIDTH and not any(_overlap(box, other) for other in taken):
                named[place] = side
                taken.append(box)
                break
    return named


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def _ticks(laid: Laid, pixels: float) -> list[int]:
    """The columns whose names have room along the axis, `pixels` for each unit of it; wide ones before narrow ones."""
    middles = np.array(laid.columns) * pixels
    ticks: list[int] = []
    for column in np.argsort(-np.array(laid.widths), kind="stable").tolist():
        if all(abs(middles[column] - middles[other]) >= CLOSEST for other in ticks):
            ticks.append(column)
    return sorted(ticks)


def _spread(line: int, n_lines: int) -> float:
    return 0.0 if n_lines == 1 else UP * (2 * line / (n_lines - 1) - 1)


def _lines(at: np.ndarray, lines: Sequence[Line], colour: str, width: float, opacity: float) -> dict[str, Any]:
    x: list[float | None] = []
    y: list[float | None] = []
    for line in lines:
        curve = _curve(at[line.source], at[line.target])
        x += [*curve[:, 0].tolist(), None]
        y += [*curve[:, 1].tolist(), None]
    look = {"color": colour, "width": width}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": look, "opacity": opacity, "hoverinfo": "skip"}


def _curve(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Points [step, 2] of a line that leaves and arrives upright, so that lines into one mark part."""
    share = np.linspace(0.0, 1.0, STEPS + 1)[:, None]
    eased = share * share * (3 - 2 * share)
    upwards = 1.5 * share * (1 - share) + share**3  # of a cubic with control points half way up
    return np.concatenate([start[:1] + eased * (end - start)[:1], start[1:] + upwards * (end - start)[1:]], 1)


def _ring(at: np.ndarray, mark: Mark, on_right: bool, is_named: bool) -> dict[str, Any]:
    named = "" if mark.kind == "logit" or is_named else escape(mark.lines[0])  # of the target its row tells
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [float(at[0])],
        "y": [float(at[1])],
        "text": [f"{named}    " if on_right else f"    {named}"],
        "textposition": "middle left" if on_right else "middle right",
        "hoverinfo": "skip",
        "cliponaxis": False,
        "marker": {
            "symbol": "circle-open",
            "size": LARGEST + 6,
            "color": ORANGE if mark.sign < 0 else BLUE,
            "line": {"width": 2.5},
        },
    }
