"""The attention page as a file: the grid of all heads, and their patterns as many as are not too much."""

import numpy as np

from app import fields
from app.axis import Axis, axis_of
from app.components import TokenAxis
from app.exports.numbers.attention import heads_of, how_of
from app.exports.pages.document import document
from app.exports.pages.grid import opened_from_grid
from app.selection.chosen import Head, Selection, Side
from app.shown import Shown
from app.views.panels import panel
from app.views.scores import score

MOST_CODES = 720_000  # cells of patterns, with which the file stays below 1.5 MB even where no two are alike


def page(shown: Shown, chosen: Selection) -> bytes:
    """A file in which every head, or where all are too many the chosen ones and some, can be opened from the grid."""
    axis, how, selected = axis_of(shown, chosen.unit, chosen.align), how_of(chosen), heads_of(shown, chosen)
    side: Side = (chosen.side or "difference") if shown.b is not None else "a"
    pooled = fields.thumbnails(shown, side, how, axis)
    tokens = TokenAxis(axis.labels, axis.presence)
    panels = [panel(shown, head, axis, chosen.unit) for head in _held(shown, selected, axis)]
    mounted = opened_from_grid(
        pooled,
        panels,
        tokens,
        None,
        chosen,
        selected=selected,
        title=fields.title(how.show),
        side=side,
        how=how,
    )
    return document("Attention", shown, mounted, "attention")


def _held(shown: Shown, selected: tuple[Head, ...], axis: Axis) -> list[Head]:
    """The heads whose patterns go along: the chosen ones, and the others, with a B those first that changed most."""
    every = [(layer, head) for layer in range(shown.n_layers) for head in range(shown.n_heads)]
    room = MOST_CODES // (len(shown.runs) * len(axis.labels) ** 2)
    if room < len(every) and shown.b is not None:
        apart = np.nan_to_num(score(shown, "divergence", axis))
        every.sort(key=lambda head: -apart[head])
    others = [head for head in every if head not in selected]
    return [*selected, *others[: max(0, room - len(selected))]] or every[:1]
