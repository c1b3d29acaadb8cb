"""Pages of heads in a file: the grid of all, a strip of tokens, and the heads that the grid opens."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float

from headlight.app.components import CellAxis, CellMap, HeadGrid, HeadPanel, HeadPanels, TokenAxis, TokenStrip
from headlight.app.exports.drawings import Drawing, OpenableHeads, on_paper, on_screen
from headlight.app.parts.grid import lacks, legend, limits, pictures
from headlight.app.runs.thumbnails import Thumbnails
from headlight.app.selection.chosen import Selection
from headlight.model.attention.fields import How
from headlight.model.measure.difference import DIFFERENCE, Side
from headlight.model.runs.edits import Head, head_name

GROUP = "attention"
Scale = Literal["linear", "sqrt", "signed"]
ACROSS = 3  # maps beside each other on paper
MAX_EXACT = 150_000  # weights that a file of about 1.5 MB has room for with all their digits


def openable_heads(
    pooled: Thumbnails,
    panels: Sequence[HeadPanel],
    rows: TokenAxis,
    columns: TokenAxis | None,
    selection: Selection,
    *,
    selected: tuple[Head, ...],
    title: str,
    side: Side,
    how: How,
    turns: Sequence[tuple[str, int]] = (),
) -> Drawing:
    """All heads' pictures called by `title`, with the selected ones open, and the text parted in `turns`."""
    n_cells = sum(side.weights.visible.size for panel in panels for side in panel.sides)
    if n_cells > MAX_EXACT:
        panels = [panel.rounded() for panel in panels]
    grid = HeadGrid(
        pictures(pooled).codes,
        kind="signed" if pooled.signed else "positive",
        legend_title=legend(title, side),
        legend_limit=pooled.limit,
        lacks=lacks(rows.presence),
    )
    strip = TokenStrip(rows, panels[0], columns, how.show, how.sink, selection.scale, turns=turns, quantity=title)
    large = HeadPanels(
        panels,
        rows,
        columns,
        how.show,
        how.sink,
        selection.scale,
        selection.own_scale,
        limits(side, pooled.limit),
        quantity=title,
    )
    return on_screen(OpenableHeads(grid, strip, large, selected), group=GROUP)


def pattern_maps(
    heads: Sequence[Head],
    cells: Mapping[str, Float[np.ndarray, "head query key"]],
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    title: str,
    unit_limit: bool,
    signed: bool,
    root: bool,
    own_scale: bool,
) -> list[list[Drawing]]:
    """The heads' cells on paper: a row a head of A, B and B - A, or a few heads in a row of A alone.

    Each side has one scale for all heads, A and B the same, which with `unit_limit` ends at 1, unless each has its own.
    """
    limits = {side: _limit([values]) for side, values in cells.items()}
    measured = [values for side, values in cells.items() if side != DIFFERENCE]
    limits |= {side: 1.0 if unit_limit else _limit(measured) for side in cells if side != DIFFERENCE}
    maps = []
    for slot, head in enumerate(heads):
        for side, values in cells.items():
            name = head_name(head) if len(cells) == 1 else f"{head_name(head)} {side.replace('-', '−')}"
            limit = _limit([values[slot]]) if own_scale else limits[side]
            scale: Scale = "signed" if signed or side == DIFFERENCE else "sqrt" if root else "linear"
            axes = CellAxis("query", queries), CellAxis("key", keys)
            maps.append(
                on_paper(CellMap(values[slot], *axes, title=f"{name}: {title}", scale=scale, ends=(0.0, limit)))
            )
    return [maps[first : first + ACROSS] for first in range(0, len(maps), ACROSS)]


def _limit(values: Sequence[Float[np.ndarray, "..."]]) -> float:
    """The largest size of any cell; 1 where there is none but zeros."""
    return max(float(np.nanmax(np.abs(each), initial=0.0)) for each in values) or 1.0
