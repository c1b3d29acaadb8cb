"""Choices of the page *MLP*."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

from headlight.app.selection.choices import Extent, PageChoices, below
from headlight.app.selection.codecs import count
from headlight.model.neurons.tables import Ranking

COUNTS = 4, 100


@dataclass(frozen=True)
class Choices(PageChoices):
    """Ranking of neurons, their layer or all, number of listed ones, and whether each is ablated."""

    forgets: ClassVar = {"model": ("neurons_layer", "neurons_measured")}  # what takes forward passes needs a new click

    neurons_by: Ranking = "direct"
    neurons_layer: int | None = None
    neurons_count: Annotated[int, count(*COUNTS)] = 16
    neurons_measured: bool = False

    def within(self, extent: Extent) -> Self:
        """Without a layer that not all runs have."""
        return replace(self, neurons_layer=below(self.neurons_layer, extent.n_layers))
