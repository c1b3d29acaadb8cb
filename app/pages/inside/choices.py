"""What can be chosen on the page *Head internals* alone."""

from dataclasses import dataclass, replace
from typing import Literal, Self

from headlight.app.selection.choices import Change, PageChoices

Convention = Literal["row", "column"]


@dataclass(frozen=True)
class Choices(PageChoices):
    """The index of q and k that is followed through the steps, and whether a token is a row or a column in them."""

    component: int | None = None
    convention: Convention = "row"

    def after(self, change: Change) -> Self:
        """Without the component, which is one of the model's."""
        left = super().after(change)
        return replace(left, component=None) if change.model else left
