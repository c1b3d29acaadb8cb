"""Choices of the page *Directions*."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

from headlight.app.selection.choices import Extent, PageChoices, below
from headlight.app.selection.chosen import Prompt
from headlight.app.selection.codecs import number
from headlight.model.directions.dosing import Where
from headlight.model.directions.finding import Method
from headlight.model.runs.edits import MAX_FACTOR, Action


@dataclass(frozen=True)
class Choices(PageChoices):
    """What a direction is found in, how, and how it acts.

    `dir_set` is a set's name, or a kept direction's identity. In the column `dir_column` of the set it points to the
    label `dir_toward` and away from `dir_away`; an empty column is clean prompts against corrupted ones, empty labels
    are the column's first two. `dir_up` and `dir_down` are the tokens by which it is measured, in place of the set's
    answers. `dir_action`, `dir_factor` and `dir_where` are of the edit.
    """

    forgets: ClassVar = {"model": ("dir_layer",)}

    dir_set: Prompt = ""
    dir_column: Prompt = ""
    dir_toward: Prompt = ""
    dir_away: Prompt = ""
    dir_position: Prompt = "end"
    dir_method: Method = "difference"
    dir_layer: int | None = None
    dir_up: Prompt = ""
    dir_down: Prompt = ""
    dir_neutral: Prompt = ""
    dir_action: Action = "add"
    dir_factor: Annotated[float, number(-MAX_FACTOR, MAX_FACTOR)] = 0.5
    dir_where: Where = "every"

    def within(self, extent: Extent) -> Self:
        """A layer that the model has."""
        return replace(self, dir_layer=below(self.dir_layer, extent.n_layers + 1))
