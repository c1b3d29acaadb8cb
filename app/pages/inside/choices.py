"""What can be chosen on the page *Head internals* alone."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from headlight.app.selection.choices import PageChoices

Convention = Literal["row", "column"]


@dataclass(frozen=True)
class Choices(PageChoices):
    """The index of q and k that is followed through the steps, and whether a token is a row or a column in them."""

    forgets: ClassVar = {"model": ("component",)}

    component: int | None = None
    convention: Convention = "row"
