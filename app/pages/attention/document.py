"""The attention page as a file: the grid of all heads, and their patterns as many as are not too much."""

import numpy as np

from headlight.app.components import TokenAxis
from headlight.app.exports.html.document import document
from headlight.app.exports.html.grid import opened_from_grid
from headlight.app.pages.attention.choices import Choices
from headlight.app.pages.attention.numbers import heads_of, how_of
from headlight.app.parts.panels import panel
from headlight.app.parts.scores import score
from headlight.app.runs import thumbnails
from headlight.app.selection.chosen import Selection
from headlight.model import fields
from headlight.model.analysis.difference import Side
from headlight.model.axis import Axis, axis_of
from headlight.model.comparison import Comparison
from headlight.model.edits import Head

MOST_CODES = 720_000  # cells of patterns, with which the file stays below 1.5 MB even where no two are alike


def page(shown: Comparison, chosen: Selection) -> bytes:
    """A file in which every head, or where all are too many the chosen ones and some, can be opened from the grid."""
    own = chosen.of(Choices)
    axis, how, selected = axis_of(shown, own.unit, chosen.align), how_of(chosen), heads_of(shown, chosen)
    side: Side = (chosen.side or "difference") if shown.b is not None else "a"
    pooled = thumbnails.thumbnails(shown, side, how, axis)
    tokens = TokenAxis(axis.labels, axis.presence)
    panels = [panel(shown, head, axis, own.unit) for head in _held(shown, selected, axis)]
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


def _held(shown: Comparison, selected: tuple[Head, ...], axis: Axis) -> list[Head]:
    """The heads whose patterns go along: the chosen ones, and the others, with a B those first that changed most."""
    every = [(layer, head) for layer in range(shown.n_layers) for head in range(shown.n_heads)]
    room = MOST_CODES // (len(shown.runs) * len(axis.labels) ** 2)
    if room < len(every) and shown.b is not None:
        apart = np.nan_to_num(score(shown, "divergence", axis))
        every.sort(key=lambda head: -apart[head])
    others = [head for head in every if head not in selected]
    return [*selected, *others[: max(0, room - len(selected))]] or every[:1]
