"""What pages of heads have as files: the grid of all, a strip of tokens, and the heads that the grid opens."""

from collections.abc import Sequence

from headlight.app.components import HeadPanel, TokenAxis, head_grid, heads, token_strip
from headlight.app.components.shared.mount import Mounted, recorded
from headlight.app.parts.grid import lacks, legend, limits, pictures
from headlight.app.runs.thumbnails import Thumbnails
from headlight.app.selection.chosen import Selection
from headlight.model.attention.fields import How
from headlight.model.measure.difference import Side
from headlight.model.runs.edits import Head

GROUP = "attention"
MAX_EXACT = 150_000  # weights that a file of at most 1.5 MB has room for with all their digits


def opened_from_grid(
    pooled: Thumbnails,
    panels: Sequence[HeadPanel],
    rows: TokenAxis,
    columns: TokenAxis | None,
    chosen: Selection,
    *,
    selected: tuple[Head, ...],
    title: str,
    side: Side,
    how: How,
) -> list[Mounted]:
    """All heads' pictures called by `title`, with the selected ones open; the others of the panels can be opened."""
    n_cells = sum(side.weights.visible.size for panel in panels for side in panel.sides)
    if n_cells > MAX_EXACT:
        panels = [panel.rounded() for panel in panels]
    with recorded() as mounted:
        head_grid(
            pictures(pooled).codes,
            selected=selected,
            epoch=0,
            key="grid",
            group=GROUP,
            kind="signed" if pooled.signed else "positive",
            legend_title=legend(title, side),
            legend_limit=pooled.limit,
            lacks=lacks(rows.presence),
        )
        token_strip(
            rows, panels[0], columns=columns, key="strip", group=GROUP, show=how.show, sink=how.sink, scale=chosen.scale
        )
        heads(
            panels,
            rows,
            columns=columns,
            pinned=None,
            epoch=0,
            key="heads",
            group=GROUP,
            show=how.show,
            sink=how.sink,
            scale=chosen.scale,
            own_scale=chosen.own_scale,
            others=limits(side, pooled.limit),
        )
    return mounted
