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
    """A page: its place in the URL, its title, what draws it, its files, and what the runs lack to be shown by it.

    `export` is asked when the page is drawn, in its session, and gives None where there is nothing to take along.
    `needs` gives a sentence for the user (what is missing, and what to do), or nothing.
    """

    slug: str
    title: str
    render: Callable[[Shown], None]
    export: Callable[[], Export | None] = lambda: None
    needs: Callable[[Shown], str] = nothing


VIEWS = (
    View("attention", "Attention", attention.render, lambda: export.ATTENTION),
    View("residual", "Residual stream", residual.render, lambda: export.RESIDUAL),
    View("lens", "Logit lens", lens.render, lambda: export.LENS, lens.needs),
    View("prompts", "Prompts", prompts.render, lambda: export.of_prompts(prompts.listed())),
)
