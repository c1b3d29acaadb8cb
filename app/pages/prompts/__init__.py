"""The list of prompts, and each head's scores over all of them."""

from functools import partial

from headlight.app.exports.export import Export
from headlight.app.frame.view import View
from headlight.app.pages.prompts import exports, view
from headlight.app.pages.prompts.choices import Choices
from headlight.app.pages.prompts.view import Listed


def export(listed: tuple[Listed, ...]) -> Export | None:
    """Exports of the page with the current list; nothing where no prompt has been run."""
    if not any(each.run for each in listed):
        return None
    return Export(
        "prompts",
        partial(exports.script, listed),
        partial(exports.data, listed),
        partial(exports.drawings, listed),
        has_plots=True,
    )


VIEW = View("prompts", "Prompts", view.render, lambda: export(view.listed()), choices=Choices)
