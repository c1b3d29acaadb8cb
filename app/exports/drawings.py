"""Description of a page's drawings: arrays, labels, units and scales, which every drawer takes.

The drawers are the page itself (`app.components`, `app.parts.charts`), the picture for papers (`exports.pictures`), the
html file (`exports.html`) and the notebook (`headlight.show`). None of them knows a page.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from headlight.app.components import (
    CellMap,
    Column,
    FlowGraph,
    HeadGrid,
    HeadPanels,
    HeadSteps,
    LensGrid,
    SampledTexts,
    Table,
    TokenBars,
    TokenStrip,
    TokenValues,
)
from headlight.app.exports.facts import Subject
from headlight.app.figures import Plot, Row, bar_list
from headlight.model.runs.edits import Head


@dataclass(frozen=True, eq=False)
class BarList:
    """Bars from the top down, blue to the right and orange to the left; the second of two `series` is filled.

    `title` is what the numbers are, with their unit.
    """

    rows: Sequence[Row]
    title: str
    unit: str
    series: Sequence[str] = ("",)

    @property
    def plot(self) -> Plot:
        """The same as a plot."""
        return bar_list.rows(self.rows, title=self.title, unit=self.unit, series=self.series)


@dataclass(frozen=True, eq=False)
class BarsByPlace:
    """Bars of one of many places, chosen in a map of the same group; `title` names the measure, with unit."""

    labels: Sequence[str]
    values: Float[np.ndarray, "row place"]
    places: Sequence[str]
    title: str


@dataclass(frozen=True, eq=False)
class TextLines:
    """The prompt's `words` with lines from the one at `query` to those that it attends to, as wide as their `weights`.

    A word that goes on with the one before has no space. A weight is not a number where the query cannot look;
    `predicted` stands behind the last word, if it is no "".
    """

    words: Sequence[str]
    weights: Float[np.ndarray, " key"]
    query: int
    predicted: str = ""


@dataclass(frozen=True, eq=False)
class OpenableHeads:
    """Grid of all heads, and the panels of those that it opens, with the strip of the first."""

    grid: HeadGrid
    strip: TokenStrip
    panels: HeadPanels
    selected: tuple[Head, ...]


Canvas = (
    CellMap
    | FlowGraph
    | HeadGrid
    | HeadPanels
    | HeadSteps
    | LensGrid
    | SampledTexts
    | Table
    | TokenBars
    | TokenStrip
    | TokenValues
)
Description = Canvas | BarList | BarsByPlace | OpenableHeads | Plot | TextLines


@dataclass(frozen=True, eq=False)
class Drawing:
    """One description of a page, its `chosen` part, and the `group` with which it shares hover and pin.

    Where paper cannot show it as the screen does, as with what is to be clicked, `on_paper` stands in its place there.
    """

    description: Description | None
    chosen: Any = None
    group: str = ""
    on_paper: Sequence[Description] | None = None

    @property
    def for_paper(self) -> Sequence[Description]:
        """Version of it for a picture."""
        if self.on_paper is not None:
            return self.on_paper
        return () if self.description is None else (self.description,)


@dataclass(frozen=True, eq=False)
class Drawings:
    """All drawings of a page, row by row, under a title; `runs` are those whose weights and tokens they show.

    Without `tokens` the title stands over no prompt, since other ones are shown; a `note` stands under it, and the
    `roles` of the heads, as far as they are known. The `finding` is the page's heading in a sentence, where it has one.
    """

    title: str
    runs: Subject | None
    rows: Sequence[Sequence[Drawing]]
    tokens: bool = True
    note: str = ""
    finding: str = ""
    roles: str = ""

    @property
    def plots(self) -> list[list[Plot]]:
        """The plots alone, in their rows."""
        rows = [[plot for drawing in row for one in drawing.for_paper for plot in _plots(one)] for row in self.rows]
        return [row for row in rows if row]


def _plots(description: Description) -> list[Plot]:
    if isinstance(description, BarList):
        return [description.plot]
    return [description] if isinstance(description, Plot) else []


def table(title: str, columns: Mapping[str, Iterable[Any]], in_picture: bool = False) -> Drawing:
    """A table of a file; a cell is text, several texts, a number or nothing. A picture leaves it out unless asked."""
    described = Table([Column(name, list(cells)) for name, cells in columns.items()], title)
    return Drawing(described) if in_picture else on_screen(described)


def on_paper(*descriptions: Description) -> Drawing:
    """Drawings of a picture, in place of those that only the html file has."""
    return Drawing(None, on_paper=descriptions)


def on_screen(description: Description, chosen: Any = None, group: str = "") -> Drawing:
    """Drawings of the html file, some of which a picture has elsewhere or leaves out."""
    return Drawing(description, chosen, group, on_paper=())


def of_side(cells: CellMap, side: str, compares: bool) -> CellMap:
    """A map called by its side, where there is another."""
    return replace(cells, title=f"{side}: {cells.title}") if compares else cells
