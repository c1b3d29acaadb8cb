"""The page *Patching* as a file: the map, its estimate where one was asked for, and the cells as a table."""

from headlight.app.components.shared.mount import recorded
from headlight.app.exports.html.document import document
from headlight.app.exports.html.file_table import file_table
from headlight.app.pages.patching.patches import finished, table, title
from headlight.app.pages.patching.view import draw_map, drawn
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison


def page(shown: Comparison, chosen: Selection) -> bytes:
    """A file in which every cell tells its share."""
    found = finished(shown, chosen)
    with recorded() as mounted:
        for matrix, called in drawn(found):
            draw_map(found, matrix, called, called)
        file_table("Cells, that which moves the prediction most first", table(found))
    return document(f"Patching, {title(found.asked)},", shown, mounted, "plain")
