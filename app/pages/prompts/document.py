"""The page of prompts as a file: the maps of all heads, and heads and prompts as tables that can be sorted."""

from collections.abc import Sequence

from headlight.app.components.shared.mount import recorded
from headlight.app.exports.html.document import document
from headlight.app.exports.html.head_maps import head_maps
from headlight.app.exports.html.sorted_table import sorted_table
from headlight.app.pages.prompts.choices import Choices
from headlight.app.pages.prompts.numbers import found_of, prompts_table
from headlight.app.pages.prompts.view import Listed, cut
from headlight.app.parts.scores import SCORES
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.reports.prompts import HEADS, heads_table


def page(listed: Sequence[Listed], shown: Comparison, chosen: Selection) -> bytes:
    """A file in which every head can be looked at; long prompts are cut as on the page."""
    found = found_of(listed, shown, chosen)
    prompts = {name: list(map(cut, cells)) for name, cells in prompts_table(found, chosen).items()}
    with recorded() as mounted:
        head_maps(found.spread, title=f"{SCORES[chosen.of(Choices).statistic].title} {found.over}")
        sorted_table("Heads", heads_table(found.spread), falling=HEADS.index("mean"))
        sorted_table("Prompts", prompts)
    return document("Prompts", Comparison(shown.a), mounted, "plain", tokens=False)
