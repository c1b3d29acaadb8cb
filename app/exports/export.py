"""What a page offers to take along."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from headlight.app.exports.data import Data
from headlight.app.exports.style import Palette
from headlight.app.figures import Plot
from headlight.app.selection.chosen import Selection

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Export:
    """A page's script, numbers, picture and html, and the plots of its figure if it has one; `name` begins their names.

    All have the same numbers, and none needs the page: the runs and the selection determine them.
    """

    name: str
    script: Callable[[Any, Selection], str]
    data: Callable[[Any, Selection], Data]
    draw: Callable[[Any, Selection, Palette], "Figure"]
    page: Callable[[Any, Selection], bytes]
    plots: Callable[[Any, Selection], Sequence[Sequence[Plot]]] | None = None


def export_of(first: object, name: str, *makers: Callable[..., Any]) -> Export:
    """An export whose makers take `first` as their first argument: a list, as it was when the page was drawn."""
    return Export(name, *(partial(make, first) for make in makers))
