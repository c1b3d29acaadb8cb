"""The list of prompts, and each head's scores over all of them."""

from collections.abc import Sequence
from functools import partial

from headlight.app.exports.export import Export
from headlight.app.frame.view import View
from headlight.app.pages.prompts import charts, code, document, numbers, picture, view
from headlight.app.pages.prompts.choices import Choices
from headlight.app.pages.prompts.view import Listed
from headlight.app.parts.charts import Rows
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison


def export(listed: tuple[Listed, ...]) -> Export | None:
    """What the page offers, with the list as it is now; nothing where no prompt has been run."""
    if not any(each.run for each in listed):
        return None
    return Export(
        "prompts",
        partial(code.script, listed),
        partial(numbers.data, listed),
        partial(picture.draw, listed),
        partial(document.page, listed),
        partial(plots, listed),
    )


def plots(listed: Sequence[Listed], shown: Comparison, chosen: Selection) -> Rows:
    """The page's plots, of the prompts that were run."""
    found = numbers.found_of(listed, shown, chosen)
    return charts.rows(view.distinct(found.rows), found.head, chosen.of(Choices).statistic)


VIEW = View("prompts", "Prompts", view.render, lambda: export(view.listed()), choices=Choices)
