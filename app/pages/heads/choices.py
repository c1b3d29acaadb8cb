"""Choices of the page *Head roles*."""

from dataclasses import dataclass
from typing import Annotated, Literal

from headlight.app.parts.labels import FinderScore
from headlight.app.selection.choices import PageChoices
from headlight.app.selection.codecs import count
from headlight.model.roles.detectors import Kind

FinderData = Literal["repeats", "prompts"]


@dataclass(frozen=True)
class Choices(PageChoices):
    """The score, how many heads are listed, and whether it is measured on random repeats or the prompts.

    `every_head` has all of them ablated and not only those that have a label. Of the chosen role's heads alone the
    table tells, and the map dims the others.
    """

    finder_score: FinderScore = "induction"
    finder_data: FinderData = "repeats"
    finder_top: Annotated[int, count(1, 999_999)] | None = None
    every_head: bool = False
    finder_role: Kind | None = None
