"""A study of a direction: found in a set by a method, tested on what it was not found in, and its dose curve."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from headlight.model.directions.dosing import FACTORS, DoseCurve, Where, dose_curve
from headlight.model.directions.examples import Examples, contrasted_examples, labelled_examples
from headlight.model.directions.finding import Method, find_directions
from headlight.model.directions.held_out import DRAWS, FOLDS, HeldOut, folds_of, held_out
from headlight.model.directions.streams import Streams, read_streams
from headlight.model.nn.transformer import Transformer
from headlight.model.prompt_sets.encoding import END, TokenSet, to_tokens
from headlight.model.prompt_sets.prompt_set import PromptSet
from headlight.model.runs.direction import Direction
from headlight.model.runs.host import HERE, Host
from headlight.model.runs.run import tokenizer_of
from headlight.model.text.chat import Begin


@dataclass(frozen=True)
class DirectionSettings:
    """How a direction is found and tested.

    Attributes:
        column: the column of labels; empty for clean prompts against corrupted ones.
        classes: the two labels, the one that the direction points to first; None where there are only two.
        group: the column of what is held out together; None for the template where there are several, else rows.
        position: "end", "mean" or the name of a position.
        method: how the direction is found.
        folds: into how many parts the groups are split.
        draws: how many shuffles of the labels, and random vectors, are the controls.
        answers: a token for each class, by which the dose curve is measured; empty for the set's own answers.
        seed: of the split and of the controls.
    """

    column: str = ""
    classes: tuple[str, str] | None = None
    group: str | None = None
    position: str = END
    method: Method = "difference"
    folds: int = FOLDS
    draws: int = DRAWS
    answers: tuple[str, str] | None = None
    seed: int = 0


@dataclass(frozen=True, eq=False)
class DirectionStudy:
    """A direction with the examples and streams that it was found in, and how it did where it was not."""

    settings: DirectionSettings
    tokens: TokenSet
    examples: Examples
    streams: Streams = field(repr=False)
    direction: Direction
    held_out: HeldOut

    @property
    def accuracies(self) -> list[float]:
        """Held-out accuracy by state."""
        return self.held_out.accuracy.tolist()

    @property
    def best_layer(self) -> int:
        """The first state with the largest held-out AUROC that has a vector."""
        return self.held_out.best if self.held_out.best in self.direction.vectors else self.direction.layers[-1]


def study_direction(
    model: Transformer,
    prompt_set: PromptSet,
    settings: DirectionSettings,
    bos: Begin = True,
    name: str = "",
    host: Host = HERE,
) -> DirectionStudy:
    """Find a direction in a set and test it on what it was not found in.

    Args:
        model: the model.
        prompt_set: the set, with a column of labels or with corrupted prompts.
        settings: what is compared, where and how.
        bos: how a prompt begins.
        name: what to call the direction; by default as the class that it points to.
        host: runs the model, and hears the progress.

    Raises:
        InputError: the set has no two classes with enough rows, or cannot be split.
    """
    tokenizer = tokenizer_of(model)
    tokens = to_tokens(prompt_set, tokenizer, bos, cfg=model.cfg)
    tokens.check_usable()
    prompts = prompt_set, tokens
    if settings.column:
        examples = labelled_examples(*prompts, settings.column, settings.classes, settings.group, settings.position)
    else:
        examples = contrasted_examples(*prompts, settings.group, settings.position)
    if settings.answers:
        toward, away = (tokenizer.to_single_token(text) for text in settings.answers)
        examples = examples.measured_by((toward,), (away,))
    folds_of(examples, settings.folds, settings.seed)  # before anything is run
    streams = read_streams(model, examples, host)
    direction = find_directions(model, examples, settings.method, name, streams, host)
    tested = held_out(streams, examples, settings.method, settings.folds, settings.draws, settings.seed, host)
    return DirectionStudy(settings, tokens, examples, streams, direction, tested)


def study_dose(
    model: Transformer,
    study: DirectionStudy,
    layer: int,
    factors: Sequence[float] = FACTORS,
    where: Where = "every",
    neutral: Sequence[str] = (),
    bos: Begin = True,
    host: Host = HERE,
) -> DoseCurve:
    """Measure what adding a study's direction before one layer causes, and what it costs on neutral texts.

    Raises:
        InputError: the examples have no outputs to measure, or the layer has no direction.
    """
    settings = study.settings
    texts = [model.to_tokens(text, bos)[0] for text in neutral]
    folds = folds_of(study.examples, settings.folds, settings.seed)
    return dose_curve(
        model,
        study.examples,
        study.streams,
        folds,
        settings.method,
        [layer],
        factors,
        where,
        [text.cpu() for text in texts],
        settings.seed,
        host,
    )
