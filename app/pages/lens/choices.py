"""Choices of the page *Logit lens*: the lens and the measure of cells, the selected cell, the followed token."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, Self

from headlight.app.runs import lenses
from headlight.app.selection.choices import Extent, PageChoices, below
from headlight.app.selection.chosen import Prompt, Selection
from headlight.app.selection.codecs import count
from headlight.model.base.errors import HeadlightError
from headlight.model.lens.kinds import Kind, Lens
from headlight.model.lens.patchscope import IDENTITY, MAX_TOKENS, Scope, no_scope
from headlight.model.lens.tables import comparable_lenses as beside_each_other
from headlight.model.lens.tables import name_for
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run

ColourBy = Literal["top", "final", "target", "rank", "entropy", "kl"]
MAX_WRITTEN = 8  # layers of a model whose every best guess is written


@dataclass(frozen=True)
class Choices(PageChoices):
    """Lens and its path if it does not lie beside its model, and the measure by which cells are coloured.

    Without one, cells of a model of many layers are coloured by the final answer's probability.

    The `scope_` options are of the prompt that a state is put into, where there, and how much is written behind it.
    """

    forgets: ClassVar = {"model": ("lens_from", "scope_position")}  # a lens is of its model, a place of its tokenizer

    measure: ColourBy | None = None
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


def measure_of(comparison: Comparison, chosen: Selection) -> ColourBy:
    """What cells are coloured by."""
    is_deep = max(run.cfg.n_layers for run in comparison.runs) > MAX_WRITTEN
    return chosen.choices_of(Choices).measure or ("final" if is_deep else "top")


def followed_token(comparison: Comparison, chosen: Selection) -> int:
    """The token typed into the page, or else A's prediction."""
    if chosen.target:
        try:
            return comparison.a.tokenizer.to_single_token(chosen.target)
        except HeadlightError:  # the page says so, and goes on with the prediction
            pass
    return int(comparison.a.next_logits.argmax())


def cell_of(comparison: Comparison, chosen: Selection) -> tuple[int, int]:
    """The layer and place looked at: the final prediction, unless another cell was chosen."""
    if chosen.layer is None or chosen.position is None:
        return len(comparison.layer_labels) - 1, comparison.default_place
    return chosen.layer, chosen.position


def lens_by_side(comparison: Comparison, chosen: Selection) -> dict[str, Lens]:
    """The lens that reads each run.

    Raises:
        HeadlightError: there is no such lens, or it was made for another model.
    """
    own = chosen.choices_of(Choices)
    return {
        side: lenses.lens(run, own.lens, name_for(comparison, run, own.lens_from))
        for side, run in comparison.sides.items()
    }


def title_of(comparison: Comparison, chosen: Selection) -> str:
    """The lens's title, with its file where no model names it."""
    own = chosen.choices_of(Choices)
    (title,) = {lens.title for lens in lens_by_side(comparison, chosen).values()}
    title = title[0].upper() + title[1:]
    return title if own.lens == "logit" or not own.lens_from else f"{title} {own.lens_from}"


def scope_of(comparison: Comparison, chosen: Selection) -> Scope | None:
    """The prompt that a state is put into, if the models can tell anything by it."""
    scope = chosen.choices_of(Choices).scope
    return None if any(map(no_scope, comparison.runs)) else scope


def lenses_of(run: Run, by: Lens) -> tuple[Lens, ...]:
    """Lenses that fit a run, with the chosen one."""
    return beside_each_other(run, by, lenses.lens)
