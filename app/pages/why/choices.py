"""Choices of the page *Why*."""

from dataclasses import dataclass
from typing import Literal

from headlight.app.selection.choices import PageChoices

By = Literal["parts", "features"]


@dataclass(frozen=True)
class Choices(PageChoices):
    """Whether a score is split by who wrote to the stream, or by the features that a dictionary finds in it."""

    why_by: By = "parts"
