"""What can be chosen on the page *Logit lens* alone."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, Self

from headlight.app.selection.choices import Extent, PageChoices, below
from headlight.app.selection.chosen import Prompt
from headlight.app.selection.codecs import count
from headlight.model.lens.kinds import Kind
from headlight.model.lens.patchscope import IDENTITY, MAX_TOKENS, Scope

ColourBy = Literal["top", "target", "rank", "entropy", "kl"]


@dataclass(frozen=True)
class Choices(PageChoices):
    """By what the cells are coloured, which lens reads them and where it lies if not beside its model.

    The `scope_` options are of the prompt that a state is put into, where there, and how much is written behind it.
    """

    forgets: ClassVar = {"model": ("lens_from", "scope_position")}  # a lens is of its model, a place of its tokenizer

    measure: ColourBy = "top"
    lens: Kind = "logit"
    lens_from: str = ""
    scope_prompt: Prompt = IDENTITY
    scope_layer: int | None = None
    scope_position: int | None = None
    scope_tokens: Annotated[int, count(0, MAX_TOKENS)] = 5

    @property
    def scope(self) -> Scope:
        """The prompt that a state is put into."""
        return Scope(self.scope_prompt, self.scope_layer, self.scope_position, self.scope_tokens)

    def within(self, extent: Extent) -> Self:
        """A layer that the prompt's model has."""
        return replace(self, scope_layer=below(self.scope_layer, extent.n_layers + 1))
