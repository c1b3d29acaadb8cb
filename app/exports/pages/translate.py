"""The page *Translate and reverse* as a file: all heads of one kind of attention, each to be opened from the grid."""

from app.exports.pages.document import document
from app.exports.pages.grid import opened_from_grid
from app.fields import How
from app.selection.chosen import Selection, Side
from app.translations import Translations
from app.views.translate import ATTENDS
from app.views.translated.heads import chosen_of, panel, thumbnails, token_axes


def page(found: Translations, chosen: Selection) -> bytes:
    """A file in which every head can be opened from the grid."""
    attends, selected = chosen.attends, chosen_of(found, chosen)
    n_layers, n_heads = found.shape(attends)
    every = [(layer, head) for layer in range(n_layers) for head in range(n_heads)]
    shown = (*selected, *(head for head in every if head not in selected))
    panels = [panel(found, head, attends, chosen.rows) for head in shown]
    rows, columns = token_axes(found, attends, chosen.rows)
    side: Side = "a" if found.b is None else chosen.side or "difference"
    seen = thumbnails(found, side, attends, chosen.rows)
    title = "attention weight"
    mounted = opened_from_grid(
        seen, panels, rows, columns, chosen, selected=selected, title=title, side=side, how=How()
    )
    return document(f"Attention, {ATTENDS[attends]},", found, mounted, "attention")
