"""Choices of the page *Prompts*."""

from dataclasses import dataclass, replace
from typing import Literal, Self

from headlight.app.selection.choices import Extent, PageChoices
from headlight.model.runs.edits import Head

Statistic = Literal[
    "induction", "previous_token", "current_token", "duplicate_token", "first_token", "entropy", "mean_distance"
]


@dataclass(frozen=True)
class Choices(PageChoices):
    """The statistic of every head over the prompts, and the head listed for each prompt."""

    statistic: Statistic = "induction"
    statistic_head: Head | None = None

    def within(self, extent: Extent) -> Self:
        """Without a head that one of the runs lacks."""
        return (
            self if not self.statistic_head or extent.has(self.statistic_head) else replace(self, statistic_head=None)
        )
