"""The page *Translate and reverse* as a file: all heads of one kind of attention, each to be opened from the grid."""

from app.components import head_grid, heads, token_strip
from app.components.shared.mount import recorded
from app.exports.pages.document import document
from app.selection.chosen import Selection
from app.translations import Translations
from app.views.translate import ATTENDS
from app.views.translated.heads import chosen_of, codes, panel, thumbnails, token_axes

GROUP = "attention"


def page(found: Translations, chosen: Selection) -> bytes:
    """A file in which every head can be opened from the grid."""
    attends, selected = chosen.attends, chosen_of(found, chosen)
    n_layers, n_heads = found.shape(attends)
    every = [(layer, head) for layer in range(n_layers) for head in range(n_heads)]
    shown = (*selected, *(head for head in every if head not in selected))
    panels = [panel(found, head, attends, chosen.rows) for head in shown]
    rows, columns = token_axes(found, attends, chosen.rows)
    side = "a" if found.b is None else chosen.side or "difference"
    seen = thumbnails(found, side, attends, chosen.rows)
    with recorded() as mounted:
        head_grid(
            codes(seen),
            selected=selected,
            epoch=0,
            key="grid",
            group=GROUP,
            kind="signed" if seen.signed else "positive",
            legend_title="B − A: attention weight" if side == "difference" else "attention weight",
            legend_limit=seen.limit,
        )
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
    return document(f"Attention, {ATTENDS[attends]},", found, mounted, "attention")
