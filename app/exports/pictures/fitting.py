"""Fit a picture into a column of a paper: no text is too small to read, and none stands over another."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

WIDTHS = {"column": 3.25, "page": 6.75}  # inches, of two columns a page and of all of it
MIN_POINTS = 6.0  # that a printed text has


def fit(figure: "Figure") -> None:
    """Raise small texts, thin labels along axes, and cut or leave out what cells have no room for."""
    from matplotlib.text import Text

    figure.draw_without_rendering()  # makes the ticks
    for text in figure.findobj(Text):
        text.set_fontsize(max(MIN_POINTS, text.get_fontsize()))
    figure.draw_without_rendering()
    for axes in figure.axes:
        for side, axis in enumerate((axes.xaxis, axes.yaxis)):
            _thin(axis, side)
        for text in axes.texts if axes.images else ():
            if text.get_clip_on():  # a word, not a number
                _cut(text, float(axes.transData.transform((1, 0))[0] - axes.transData.transform((0, 0))[0]))
        if axes.images and not _have_room([text.get_window_extent() for text in axes.texts if type(text) is Text]):
            for text in axes.texts:
                text.set_visible(type(text) is not Text)


def _cut(text: "Text", width: float) -> None:
    """Shorten a word to a cell's width (pixels), to two letters at least."""
    while text.get_window_extent().width > width and len(word := text.get_text().rstrip("…")) > 2:
        text.set_text(f"{word[:-1]}…")


def _thin(axis: "Axis", side: int) -> None:
    """Keep every so manieth label, so that none touches the next."""
    labels: list[Text] = [label for label in axis.get_ticklabels() if label.get_text()]
    spans = sorted(label.get_window_extent().get_points()[:, side].tolist() for label in labels)
    step = next(step for step in range(1, len(spans) + 2) if _are_apart(spans[::step]))
    for place, label in enumerate(labels):
        label.set_visible(place % step == 0)


def _are_apart(spans: Sequence[Sequence[float]]) -> bool:
    return all(end <= start for (_, end), (start, _) in pairwise(spans))


def _have_room(boxes: "Sequence[Bbox]") -> bool:
    """Whether none of the words of a map's cells touches the next of its row."""
    rows: dict[int, list[list[float]]] = {}
    for box in boxes:
        rows.setdefault(round((box.y0 + box.y1) / 2), []).append([box.x0, box.x1])
    return all(_are_apart(sorted(spans)) for spans in rows.values())
