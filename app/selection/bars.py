"""The bars above the pages: which fields of the selection each asks for, of A and of B."""

from dataclasses import dataclass


@dataclass(frozen=True)
class BarFields:
    """Fields of a model and its texts, of B with `_b` at the end; those that A and B share, and their alignment.

    There is a B where the first text is not None there. The other texts may be left empty. `key` ends the keys of the
    bar's buttons.
    """

    model: str
    texts: tuple[str, ...]
    shared: str
    align: str
    key: str = ""

    @property
    def text(self) -> str:
        """The first text."""
        return self.texts[0]

    @property
    def of_a(self) -> tuple[str, ...]:
        """Fields that B has too."""
        return self.model, *self.texts

    @property
    def typed(self) -> tuple[str, ...]:
        """The texts of both."""
        return *self.texts, *map(in_b, self.texts)

    @property
    def beside(self) -> tuple[str, ...]:
        """All but the texts."""
        return self.model, in_b(self.model), self.shared, self.align

    def has_b(self, selection: object) -> bool:
        """Whether a selection has a B of its own."""
        return getattr(selection, in_b(self.text)) is not None

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return *self.typed, *self.beside


def in_b(name: str) -> str:
    """The field of B that is this one in A."""
    return f"{name}_b"


PROMPT_BAR = BarFields("model", ("prompt",), "bos", "align")
SOURCE_BAR = BarFields("translator", ("source", "translation"), "beams", "pair_align", "_sources")
BARS = (PROMPT_BAR, SOURCE_BAR)
