"""Options of one page, and those that a new run resets."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self


@dataclass(frozen=True)
class Extent:
    """The extent of the runs: layers and heads that all of them have, and places on their axis.

    Of two models one may have more layers: `deepest` counts these.
    """

    n_layers: int
    n_heads: int
    n_places: int
    deepest: int

    def has(self, *heads: tuple[int, int]) -> bool:
        """Whether all of these heads (layer, head) are there."""
        return all(layer < self.n_layers and head < self.n_heads for layer, head in heads)


def below(index: int | None, size: int) -> int | None:
    """An index if it is below the number, or None."""
    return index if index is not None and index < size else None


@dataclass(frozen=True)
class Change:
    """Change of the selection: of the model, of anything in the prompt bar, or in the source bar."""

    model: bool = False
    prompt: bool = False
    translator: bool = False
    source: bool = False


@dataclass(frozen=True)
class PageChoices:
    """The options of one page: a frozen dataclass in its folder derives from this.

    Every field has a default, and is a parameter of the address by its own name, which no other page has. Its type says
    what the address may hold, or a codec beside the type: `Annotated[int, count(1, 64)]`.

    `forgets` names, by what of a `Change` is so, the options that then mean nothing.
    """

    forgets: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def within(self, extent: Extent) -> Self:
        """Choices without parts that the runs lack."""
        return self

    def after(self, change: Change) -> Self:
        """Choices without those that a new request makes meaningless."""
        gone = [name for what, names in self.forgets.items() if getattr(change, what) for name in names]
        return replace(self, **{name: getattr(type(self), name) for name in gone})
