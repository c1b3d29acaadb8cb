"""The page of prompts as a file: the maps of all heads, and heads and prompts as tables that can be sorted."""

from collections.abc import Sequence
from typing import get_args

from headlight.app.components.shared.mount import recorded
from headlight.app.exports.html.document import document
from headlight.app.exports.html.file_table import file_table
from headlight.app.pages.prompts import prompt_statistics
from headlight.app.pages.prompts.choices import Choices
from headlight.app.pages.prompts.numbers import found_of, prompts_table
from headlight.app.pages.prompts.view import Listed, cut
from headlight.app.parts.scores import SCORES
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison


def page(listed: Sequence[Listed], shown: Comparison, chosen: Selection) -> bytes:
    """A file in which every head can be looked at; long prompts are cut as on the page."""
    found = found_of(listed, shown, chosen)
    prompts = {name: list(map(cut, cells)) for name, cells in prompts_table(found, chosen).items()}
    title = f"{SCORES[chosen.of(Choices).statistic].title} {found.over}"
    with recorded() as mounted:
        for which in get_args(prompt_statistics.Measured):
            prompt_statistics.draw_map(found.spread, which, f"statistic {which}")
        file_table("Heads", prompt_statistics.by_mean(found.spread))
        file_table("Prompts", prompts)
    return document(f"Prompts, {title},", Comparison(shown.a), mounted, "plain", tokens=False)
