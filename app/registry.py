"""The pages, in the order of the navigation: a new page is one file in `views` and one line here."""

from collections.abc import Callable
from dataclasses import dataclass

from app.exports import export
from app.exports.export import Export
from app.shown import Shown
from app.views import attention, lens, prompts, residual


def nothing(shown: Shown) -> str:
    """A view that can show any runs."""
    return ""


@dataclass(frozen=True)
class View:
    """A page: its place in the URL, its title, what draws it, what the runs lack to be shown by it, and its files.

    `needs` gives a sentence for the user (what is missing, and what to do), or nothing.
    """

    slug: str
    title: str
    render: Callable[[Shown], None]
    needs: Callable[[Shown], str] = nothing
    export: Export | None = None


VIEWS = (
    View("attention", "Attention", attention.render, export=export.ATTENTION),
    View("residual", "Residual stream", residual.render, export=export.RESIDUAL),
    View("lens", "Logit lens", lens.render, lens.needs, export.LENS),
    View("prompts", "Prompts", prompts.render),
)
