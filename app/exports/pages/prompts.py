"""The page of prompts as a file: the maps of all heads, and heads and prompts as tables that can be sorted."""

from collections.abc import Sequence

from app.components.shared.mount import recorded
from app.exports.numbers.prompts import HEADS, found_of, heads_table, prompts_table
from app.exports.pages.document import document
from app.exports.pages.head_maps import head_maps
from app.exports.pages.sorted_table import sorted_table
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.prompts import Listed, cut
from app.views.scores import SCORES


def page(listed: Sequence[Listed], shown: Shown, chosen: Selection) -> bytes:
    """A file in which every head can be looked at; long prompts are cut as on the page."""
    found = found_of(listed, shown, chosen)
    prompts = {name: list(map(cut, cells)) for name, cells in prompts_table(found, chosen).items()}
    with recorded() as mounted:
        head_maps(found.spread, title=f"{SCORES[chosen.statistic].title} {found.over}")
        sorted_table("Heads", heads_table(found.spread), falling=HEADS.index("mean"))
        sorted_table("Prompts", prompts)
    return document("Prompts", Shown(shown.a), mounted, "plain", tokens=False)
