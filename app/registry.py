"""The pages, in the order of the navigation: a new page is one file in `views` and one line here."""

from collections.abc import Callable
from dataclasses import dataclass

from app.runs import Run
from app.views import attention, lens, residual


def nothing(run: Run) -> str:
    """A view that can show any run."""
    return ""


@dataclass(frozen=True)
class View:
    """A page: its place in the URL, its title, what draws it, and what a run lacks to be shown by it.

    `needs` gives a sentence for the user (what is missing, and what to do), or nothing.
    """

    slug: str
    title: str
    render: Callable[[Run], None]
    needs: Callable[[Run], str] = nothing


VIEWS = (
    View("attention", "Attention", attention.render),
    View("residual", "Residual stream", residual.render),
    View("lens", "Logit lens", lens.render, lens.needs),
)
