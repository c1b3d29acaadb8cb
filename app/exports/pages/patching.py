"""The page *Patching* as a file: the map, its estimate where one was asked for, and the cells as a table."""

from app.components.shared.mount import recorded
from app.exports.pages.document import document
from app.exports.pages.sorted_table import sorted_table
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.patches import finished, table, title
from app.views.patching import draw_map, drawn


def page(shown: Shown, chosen: Selection) -> bytes:
    """A file in which every cell tells its share."""
    found = finished(shown, chosen)
    with recorded() as mounted:
        for matrix, called in drawn(found):
            draw_map(found, matrix, called, called)
        sorted_table("Cells, that which moves the prediction most first", table(found))
    return document(f"Patching, {title(found.asked)},", shown, mounted, "plain")
