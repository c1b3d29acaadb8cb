"""The page *Heads of this model* as a file: the map of all heads, and the heads as a table that can be sorted."""

from collections.abc import Sequence

from app.components.shared.mount import recorded
from app.exports.numbers.heads import found_of
from app.exports.pages.document import document
from app.exports.pages.sorted_table import sorted_table
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.finder import draw_map
from app.views.found import table
from app.views.labels import SCORES


def page(texts: Sequence[str], shown: Shown, chosen: Selection) -> bytes:
    """A file in which every head tells its score, interval, rank and label."""
    found = found_of(texts, shown, chosen)
    with recorded() as mounted:
        draw_map(found, chosen, epoch=0, key="finder")
        sorted_table(f"Heads by {SCORES[found.score].title.lower()}", table(found))
    return document("Heads", Shown(shown.a), mounted, "plain", tokens=False)
