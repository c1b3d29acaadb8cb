"""Everything that the user has chosen, as one frozen value."""

from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Literal, TypeVar

from headlight.app.selection.choices import Change, Extent, PageChoices, below
from headlight.app.selection.codecs import EDITS, PROMPT, PROMPTS, count
from headlight.model.measure.alignment import Align
from headlight.model.measure.difference import Side
from headlight.model.runs.edits import Edit, Head
from headlight.model.text.chat import Begin

Own = TypeVar("Own", bound=PageChoices)
Prompt = Annotated[str, PROMPT]
Scale = Literal["sqrt", "linear"]
Sort = Literal[
    "place",
    "entropy",
    "mean_distance",
    "first_token",
    "other_sinks",
    "previous_token",
    "current_token",
    "duplicate_token",
    "induction",
    "largest_write",
    "divergence",
]
FeaturesBy = Literal["activation", "effect"]
FINDER_COUNTS = 2, 100  # random repeats: an interval needs two
FINDER_HALVES = 4, 500  # tokens that come twice in one of them


@dataclass(frozen=True)
class Selection:
    """Choices that several pages share, and each page's own `choices`; None stands for the page's default.

    There is a run B where `prompt_b` is not None; `model_b` is A's where it is empty. Without it B is run A with those
    `edits`, if any, whose places are not in `edits_off`. `heads` are (layer, head).
    Tokens are places on the axis that A and B have in common, which without B is A's: `queries` and `keys` are pinned
    on the attention page, `layer` (0 is the embedding) and `position` are the cell looked at on the others.
    `target` is the text of the token that is followed; its logit less that of `distractor` is what is explained.
    `mean_over` are the prompts over whose positions a head's mean is taken that stands in for it; without them it is
    over the prompt's own. `table` asks for numbers in place of pictures.

    An encoder-decoder reads `source` and, if there is one, `source_b` beside it, in `translator_b` where that is not
    empty; what each writes is provided in `translation` and `translation_b`, or searched with `beams`, of which
    `branch` and `branch_b` are selected. Both are in `source_language` and are written in `target_language`, where the
    model has tokens for these. `pair_align` lays their tokens side by side.

    `dictionary` is what features are named by; where it is empty, the first that comes with A's model. `feature` is
    (layer, feature) of it, `neuron` (layer, neuron) one of the model's own. Features are listed
    `features_by` how active they are, or by what they do to the prediction.

    Heads are labelled by what they do on `finder_count` random repeats of `finder_half` tokens drawn from
    `finder_seed`. What they do over a corpus is read from `scan`; where it is empty, from the first that is of A's
    model.
    """

    model: str = ""
    prompt: Prompt = ""
    bos: Begin = True
    model_b: str = ""
    prompt_b: Prompt | None = None
    align: Align = "tokens"
    heads: tuple[Head, ...] | None = None
    queries: tuple[int, ...] = ()
    keys: tuple[int, ...] = ()
    scale: Scale = "sqrt"
    own_scale: bool = False
    side: Side | None = None
    sort: Sort = "place"
    layer: int | None = None
    position: int | None = None
    target: str = ""
    distractor: str = ""
    mean_over: Annotated[tuple[str, ...], PROMPTS] = ()
    table: bool = False
    translator: str = ""
    source: Prompt | None = None
    translation: Prompt | None = None
    source_language: str = ""
    target_language: str = ""
    beams: int = 4
    branch: int | None = None
    translator_b: str = ""
    source_b: Prompt | None = None
    translation_b: Prompt | None = None
    branch_b: int | None = None
    pair_align: Align = "tokens"
    finder_seed: int = 0
    finder_count: Annotated[int, count(*FINDER_COUNTS)] = 10
    finder_half: Annotated[int, count(*FINDER_HALVES)] = 25
    edits: Annotated[tuple[Edit, ...], EDITS] = ()
    edits_off: tuple[int, ...] = ()
    scan: str = ""
    dictionary: str = ""
    feature: tuple[int, int] | None = None
    features_by: FeaturesBy = "activation"
    neuron: tuple[int, int] | None = None
    choices: frozenset[PageChoices] = frozenset()

    def __post_init__(self) -> None:
        """Options at their defaults are no choice."""
        chosen = frozenset(each for each in self.choices if each != type(each)())
        object.__setattr__(self, "choices", chosen)

    def choices_of(self, page: type[Own]) -> Own:
        """A page's own options."""
        return next((each for each in self.choices if isinstance(each, page)), page())

    def updated(self, page: type[PageChoices] | None = None, /, **chosen: Any) -> "Selection":
        """Selection with other values; names that are no field of its own are options of the page."""
        if page is None:
            return replace(self, **chosen)
        own = {name: chosen.pop(name) for name in set(chosen) & {each.name for each in fields(page)}}
        others = (each for each in self.choices if not isinstance(each, page))
        return replace(self, **chosen, choices=frozenset([*others, replace(self.choices_of(page), **own)]))

    def after(self, change: Change) -> "Selection":
        """The selection without page options that a new request makes meaningless."""
        return replace(self, choices=frozenset(each.after(change) for each in self.choices))

    def within(self, extent: Extent) -> "Selection":
        """Without the heads, layers, places and B that the runs do not have.

        Heads have to be in both runs; of two models any layer of the deeper one will do.
        """
        heads = self.heads and tuple(head for head in self.heads if extent.has(head))
        return replace(
            self,
            model_b="" if self.prompt_b is None else self.model_b,
            heads=None if self.heads and not heads else heads,
            queries=tuple(place for place in self.queries if place < extent.n_places),
            keys=tuple(place for place in self.keys if place < extent.n_places),
            side=self.side if self.compares or self.source_b is not None else None,
            layer=below(self.layer, extent.deepest + 1),
            position=below(self.position, extent.n_places),
            choices=frozenset(each.within(extent) for each in self.choices),
        )

    @property
    def edits_on(self) -> tuple[Edit, ...]:
        """The edits that make B of A: none where there is a prompt B, which then is B."""
        if self.prompt_b is not None:
            return ()
        return tuple(edit for place, edit in enumerate(self.edits) if place not in self.edits_off)

    @property
    def compares(self) -> bool:
        """Whether there is a B, another prompt or A with edits."""
        return self.prompt_b is not None or bool(self.edits_on)
