"""What can be chosen on the page *Logit lens* alone."""

from dataclasses import dataclass
from typing import Literal, Self

from headlight.app.selection.choices import Change, PageChoices

ColourBy = Literal["top", "target", "rank", "entropy", "kl"]


@dataclass(frozen=True)
class Choices(PageChoices):
    """By what the cells are coloured."""

    measure: ColourBy = "top"

    def after(self, change: Change) -> Self:
        """It stays, with an example too."""
        return self
