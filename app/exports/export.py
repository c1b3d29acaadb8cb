"""Exports that a page offers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headlight.app.exports import pictures
from headlight.app.exports.data import Data
from headlight.app.exports.drawings import Drawings
from headlight.app.exports.html.document import document
from headlight.app.exports.style import Palette
from headlight.app.figures import Plot
from headlight.app.selection.chosen import Selection

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Export:
    """A page's script, its numbers and its drawings, from which its picture and its html file come.

    `name` begins the files' names. None of them needs the page: the runs and the selection say everything.
    """

    name: str
    script: Callable[[Any, Selection], str]
    data: Callable[[Any, Selection], Data]
    drawings: Callable[[Any, Selection], Drawings]
    has_plots: bool = False

    def picture(self, runs: Any, selection: Selection, palette: Palette, inches: float | None = None) -> "Figure":
        """The picture for papers, so many `inches` wide, or as wide as its parts are."""
        return pictures.picture(self.drawings(runs, selection), palette, inches=inches)

    def page(self, runs: Any, selection: Selection) -> bytes:
        """The page as one html file."""
        return document(self.drawings(runs, selection))

    def plots(self, runs: Any, selection: Selection) -> Sequence[Sequence[Plot]]:
        """The page's plots, for Plotly."""
        return self.drawings(runs, selection).plots
