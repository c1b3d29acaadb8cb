"""What the page *Directions* shows: the study or the opened direction that is chosen, as far as it is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from headlight.app.pages.directions.choices import Choices
from headlight.app.runs import dictionaries, direction_studies, directions, lenses
from headlight.app.runs.direction_studies import DoseQuestion, StudyQuestion
from headlight.app.selection.chosen import Selection
from headlight.model.base.errors import InputError
from headlight.model.directions.dosing import DoseCurve
from headlight.model.directions.examples import MEAN
from headlight.model.directions.study import DirectionSettings, DirectionStudy
from headlight.model.directions.tables import study_tables
from headlight.model.lens.kinds import LOGIT, Lens
from headlight.model.lens.tables import comparable_lenses
from headlight.model.prompt_sets.encoding import END
from headlight.model.prompt_sets.prompt_set import PromptSet
from headlight.model.prompt_sets.templates import TEMPLATE
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.direction import MARK, Direction
from headlight.model.runs.tables import Tables

NEUTRAL = "The old man sat by the window and read a book. It was raining, and the street was empty."
MAX_CLASSES = 50  # labels of a column that are offered; with more it is no column of classes
PAIRS = "clean and corrupted"


def no_directions(comparison: Comparison) -> str:
    """Why no direction can be found in a model; nothing where one can."""
    cfg = comparison.a.cfg
    if cfg.attention_dir != "causal" or cfg.output != "tokens":
        return "Directions are found in the last token's stream of a language model. Choose one as run A."
    if comparison.a.model.tokenizer is None:
        return "This model has no tokenizer, so that no prompts can be read."
    return ""


@dataclass(frozen=True, eq=False)
class DirectionView:
    """The chosen direction, with what it was found in if it was found here, and its dose curve where that is known."""

    comparison: Comparison
    direction: Direction
    layer: int
    place: int
    study: DirectionStudy | None = None
    curve: DoseCurve | None = None
    dictionary: str = ""

    @cached_property
    def others(self) -> dict[str, str]:
        """The identities of the kept directions of the same width, by name."""
        return {
            name_of(identity): identity
            for identity, each in directions.kept().items()
            if identity != self.direction.identity and each.d_model == self.direction.d_model
        }

    @property
    def lenses(self) -> tuple[Lens, ...]:
        """The lenses that the model of run A has."""
        return comparable_lenses(self.comparison.a, LOGIT, lenses.lens)

    @cached_property
    def tables(self) -> Tables:
        """All numbers of the page."""
        others = {name: directions.opened(identity) for name, identity in self.others.items()}
        opened = dictionaries.fitting(self.dictionary, self.comparison.a.model) if self.dictionary else None
        chosen = self.direction, self.layer, self.place
        return study_tables(self.comparison, self.study, *chosen, self.curve, others, opened, self.lenses)


def name_of(identity: str) -> str:
    """A direction's name, or an uploaded set's."""
    return identity.partition(MARK)[0]


def chosen_set(comparison: Comparison, chosen: Selection) -> str:
    """The chosen set's name, or a kept direction's identity; by default the first set that the model can use."""
    return chosen.choices_of(Choices).dir_set or direction_studies.first_for(comparison.a)


def kept_direction(chosen: Selection) -> Direction | None:
    """The kept direction that is chosen; None where a set is."""
    return directions.kept().get(chosen.choices_of(Choices).dir_set)


def columns_of(prompts: PromptSet) -> dict[str, str]:
    """The columns of labels that have two classes or more, by name, and clean against corrupted where both are."""
    columns = {"": PAIRS} if all(row.corrupted is not None for row in prompts.rows) else {}
    for name in prompts.label_names:
        if name != TEMPLATE and 2 <= len(classes_of(prompts, name)) <= MAX_CLASSES:
            columns[name] = name
    return columns


def classes_of(prompts: PromptSet, column: str) -> list[str]:
    """The labels of a column, in order of appearance."""
    return list(dict.fromkeys(row.labels[column] for row in prompts.rows if row.labels.get(column)))


def positions_of(prompts: PromptSet) -> dict[str, str]:
    """Where a set can be read: at the end, over all tokens, or at a position that every row names."""
    named = [name for name in prompts.rows[0].positions if all(name in row.positions for row in prompts.rows)]
    return {END: "last token", MEAN: "mean over tokens", **{name: name for name in named if name != END}}


def pair_of(prompts: PromptSet, column: str, own: Choices) -> tuple[str, str]:
    """The two classes, the one that the direction points to first."""
    classes = classes_of(prompts, column)
    toward = own.dir_toward if own.dir_toward in classes else classes[-1]
    others = [each for each in classes if each != toward]
    return toward, own.dir_away if own.dir_away in others else others[0]


def study_question(comparison: Comparison, chosen: Selection) -> StudyQuestion:
    """What is asked of the chosen set.

    Raises:
        InputError: the set is not open, or has no two classes.
    """
    own = chosen.choices_of(Choices)
    known = direction_studies.set_of(chosen_set(comparison, chosen))
    prompts, columns = known.prompt_set, columns_of(known.prompt_set)
    if not columns:
        raise InputError(
            "The set has neither a column of two labels nor a corrupted prompt in every row, so there are no two "
            "classes to compare. Add a column such as label, with two different values."
        )
    column = own.dir_column if own.dir_column in columns else next(iter(columns))
    settings = DirectionSettings(
        column,
        pair_of(prompts, column, own) if column else None,
        position=own.dir_position,
        method=own.dir_method,
        answers=(own.dir_up, own.dir_down) if own.dir_up and own.dir_down else None,
    )
    return StudyQuestion(comparison.a.source.name, comparison.a.bos, known, settings)


def dose_question(comparison: Comparison, chosen: Selection, layer: int) -> DoseQuestion:
    """What is asked of the chosen direction's effect."""
    own = chosen.choices_of(Choices)
    texts = tuple(line for line in (own.dir_neutral or NEUTRAL).splitlines() if line.strip())
    return DoseQuestion(study_question(comparison, chosen), layer, own.dir_where, texts)


def find(comparison: Comparison, chosen: Selection) -> DirectionView | None:
    """What is shown, as far as it is known; None before a direction was found, and where there is no set.

    Raises:
        InputError: the set or the direction is not open, or does not fit the model.
    """
    own, place = chosen.choices_of(Choices), _place(comparison, chosen)
    if (direction := kept_direction(chosen)) is not None:
        direction.check_fits(comparison.a.cfg.d_model, comparison.a.cfg.n_layers)
        layer = _layer(own.dir_layer, direction, direction.layers[-1])
        return DirectionView(comparison, direction, layer, place, dictionary=_dictionary(comparison, chosen, layer))
    if not chosen_set(comparison, chosen):
        return None
    study: DirectionStudy | None = direction_studies.answer_or_none(study_question(comparison, chosen))
    if study is None:
        return None
    layer = _layer(own.dir_layer, study.direction, study.best_layer)
    curve = None
    if study.examples.has_answers:
        curve = direction_studies.answer_or_none(dose_question(comparison, chosen, layer))
    dictionary = _dictionary(comparison, chosen, layer)
    return DirectionView(comparison, study.direction, layer, place, study, curve, dictionary)


def _dictionary(comparison: Comparison, chosen: Selection, layer: int) -> str:
    """The name of dictionaries of this stream; empty where there are none."""
    opened = dictionaries.of_stream(chosen.dictionary, layer, comparison.runs)
    return "" if opened is None else opened[0]


def _layer(chosen: int | None, direction: Direction, best: int) -> int:
    return chosen if chosen is not None and chosen in direction.vectors else best


def _place(comparison: Comparison, chosen: Selection) -> int:
    place = chosen.position
    return place if place is not None and place < len(comparison.labels) else comparison.default_place


def layers_of(comparison: Comparison, layers: Sequence[int]) -> dict[int, str]:
    """Names of the streams: after which layer."""
    return {layer: comparison.a.layer_labels[layer] for layer in layers}
