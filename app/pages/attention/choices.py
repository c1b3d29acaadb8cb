"""Choices of the page *Attention*."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, Self

from headlight.app.selection.choices import Extent, PageChoices, below
from headlight.app.selection.codecs import PAIR
from headlight.model.attention.axis import Axis, Unit
from headlight.model.attention.fields import How, Show, Sink, how_between
from headlight.model.attention.folding import Fold
from headlight.model.runs.edits import Head

Vertical = Literal["receivers", "head"]


@dataclass(frozen=True)
class Choices(PageChoices):
    """Measure in the cells, of the first token too, by tokens or groups of them; number of heads in the sorted grid.

    `pair` are the two heads whose difference is drawn. `numbers` and `sentences` open what is under the pictures.
    `vertical` says of which heads the sentences' scores are drawn: of the receiver heads, or of the first chosen head.
    `hidden` is the sentence's place of which it is shown what later ones lose without it.
    """

    forgets: ClassVar = {"model": ("pair",), "prompt": ("hidden",)}

    show: Show = "weight"
    sink: Sink = "keep"
    unit: Unit = "token"
    fold: Fold = "average"
    top: int | None = None
    pair: Annotated[tuple[Head, ...], PAIR] = ()
    numbers: bool = False
    sentences: bool = True
    vertical: Vertical = "receivers"
    hidden: int | None = None

    @property
    def how(self) -> How:
        """Measure in the cells; words and sentences have weights alone."""
        return how_between(self.unit, self.show, self.sink, self.fold)

    def hidden_on(self, axis: Axis) -> int | None:
        """The place that is hidden, where the axis has it and is one of sentences or turns."""
        return below(self.hidden, len(axis.labels)) if self.unit in ("sentence", "turn") else None

    def within(self, extent: Extent) -> Self:
        """Without a pair of which one of the runs lacks a head."""
        return self if extent.has(*self.pair) else replace(self, pair=())
