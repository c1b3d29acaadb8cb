"""Choices of the page *Why*."""

from dataclasses import dataclass
from typing import Literal

from headlight.app.selection.choices import PageChoices

By = Literal["parts", "features"]


@dataclass(frozen=True)
class Choices(PageChoices):
    """Split of a score by the components of the stream, or by a dictionary's features."""

    why_by: By = "parts"
