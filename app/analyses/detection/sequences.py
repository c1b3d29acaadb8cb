"""The sequences that heads are looked at on, by name: random tokens that come twice, or a prompt; edited or not.

A name says everything, so that what comes of a sequence is in the cache of runs under it.
"""

from dataclasses import dataclass

from headlight.app.runs import limits, models, runs
from headlight.app.runs.cost import budget, cost_of
from headlight.model import Transformer
from headlight.model.edits import Edit
from headlight.model.roles import sequences
from headlight.model.roles.sequences import Sequence
from headlight.model.text.chat import Begin


@dataclass(frozen=True)
class Repeats:
    """The seeded random sequences: how many, and how many tokens come twice in each, if the context holds them."""

    seed: int = 0
    count: int = 10
    half: int = 25


@dataclass(frozen=True)
class Input:
    """A sequence by name: a prompt, or else one of the seeded random repeats; and the edits of the run over it."""

    model: str
    bos: Begin
    prompt: str | None = None
    seed: int = 0
    number: int = 0
    half: int = Repeats.half
    edits: tuple[Edit, ...] = ()


def repeats(model_name: str, bos: Begin, drawn: Repeats, edits: tuple[Edit, ...] = ()) -> tuple[Input, ...]:
    """The names of the seeded random sequences."""
    return tuple(Input(model_name, bos, None, drawn.seed, number, drawn.half, edits) for number in range(drawn.count))


def half_of(model: Transformer, bos: Begin, half: int) -> int:
    """How many tokens come twice: 0 where the context or the vocabulary is too small for random repeats."""
    return sequences.half_of(model, bos, half, runs.HOST)


def most_half(model: Transformer, bos: Begin) -> int:
    """How many different tokens the context holds twice."""
    return sequences.most_half(model, bos, runs.HOST)


def sequence_of(given: Input) -> Sequence:
    """The tokens that the model is to read.

    Raises:
        HeadlightError: the sequence cannot be run; or there are no random repeats for this model.
    """
    if given.prompt is not None:
        model, tokens, _ = runs.tokens_of(given.model, given.prompt, given.bos)
        return Sequence(model, tokens, given.bos, 0, given.edits, runs.HOST)
    model = models.open_model(given.model)
    found = sequences.random_repeat(model, given.bos, given.seed, given.number, given.half, given.edits, runs.HOST)
    limits.check_cost(len(found.tokens), cost_of(model), budget())
    return found
