"""The page *Translate and reverse* as a file: all heads of one kind of attention, each to be opened from the grid."""

from app.components import head_grid, heads, token_strip
from app.components.shared.mount import recorded
from app.exports.numbers.translate import heads_of
from app.exports.pages.document import document
from app.selection.chosen import Selection
from app.translation import Translation
from app.views.translate import ATTENDS, panel, thumbnails, token_axes

GROUP = "attention"


def page(found: Translation, chosen: Selection) -> bytes:
    """A file in which every head can be opened from the grid."""
    attended, selected = found.attention[chosen.attends], heads_of(found, chosen)
    n_layers, n_heads = attended.pattern.shape[:2]
    every = [(layer, head) for layer in range(n_layers) for head in range(n_heads)]
    panels = [panel(attended, head) for head in (*selected, *(head for head in every if head not in selected))]
    rows, columns = token_axes(found, chosen.attends, chosen.rows)
    with recorded() as mounted:
        head_grid(thumbnails(attended), selected=selected, epoch=0, key="grid", group=GROUP)
        token_strip(rows, panels[0], columns=columns, key="strip", group=GROUP, scale=chosen.scale)
        heads(
            panels,
            rows,
            columns=columns,
            pinned=None,
            epoch=0,
            key="heads",
            group=GROUP,
            scale=chosen.scale,
            own_scale=chosen.own_scale,
        )
    return document(f"Attention, {ATTENDS[chosen.attends]},", found, mounted, "attention")
