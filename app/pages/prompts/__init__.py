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


READING = (
    "The map has a square for each of {heads} heads, with its mean score over the prompts of your list and the spread "
    "beside it. The table has the chosen head’s score on every prompt. This prompt has {tokens} tokens, of which a "
    "score is already a mean: add prompts to see what holds for others."
)
VIEW = View("prompts", "Prompts", view.render, lambda: export(view.listed()), choices=Choices, reading=READING)
