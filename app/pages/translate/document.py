"""The page *Translate* as a file: all heads of one kind of attention, each to be opened from the grid."""

from headlight.app.exports.html.document import document
from headlight.app.exports.html.grid import opened_from_grid
from headlight.app.pages.translate.choices import Choices
from headlight.app.pages.translate.heads import chosen_of, panel, thumbnails, token_axes
from headlight.app.pages.translate.view import ATTENDS
from headlight.app.selection.chosen import Selection
from headlight.model.analysis.difference import Side
from headlight.model.decoding.translations import Translations
from headlight.model.fields import How


def page(found: Translations, chosen: Selection) -> bytes:
    """A file in which every head can be opened from the grid."""
    own = chosen.of(Choices)
    attends, selected = own.attends, chosen_of(found, chosen)
    n_layers, n_heads = found.shape(attends)
    every = [(layer, head) for layer in range(n_layers) for head in range(n_heads)]
    shown = (*selected, *(head for head in every if head not in selected))
    panels = [panel(found, head, attends, own.rows) for head in shown]
    rows, columns = token_axes(found, attends, own.rows)
    side: Side = "a" if found.b is None else chosen.side or "difference"
    seen = thumbnails(found, side, attends, own.rows)
    title = "attention weight"
    mounted = opened_from_grid(
        seen, panels, rows, columns, chosen, selected=selected, title=title, side=side, how=How()
    )
    return document(f"Attention, {ATTENDS[attends]},", found, mounted, "attention")
