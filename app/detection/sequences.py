"""The sequences that heads are looked at on, by name: random tokens that come twice, or a prompt; edited or not.

A name says everything, so that what comes of a sequence is in the cache of runs under it.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from app import limits, models, runs
from app.limits import GIB, Cost
from app.run import cost, tokenizer_of
from app.settings import settings
from model import Transformer
from model.editing import EditTap, tap
from model.edits import AblateHeads, Drop, Edit, FreezePatterns, Steer
from model.errors import InputError
from model.training.repeats import repeated_halves

SHORTEST = 4  # tokens that make a half


@dataclass(frozen=True)
class Repeats:
    """The seeded random sequences: how many, and how many tokens come twice in each, if the context holds them."""

    seed: int = 0
    count: int = 10
    half: int = 25


@dataclass(frozen=True)
class Fed:
    """A sequence by name: a prompt, or else one of the seeded random repeats; and the edits of the run over it."""

    model: str
    bos: bool
    prompt: str | None = None
    seed: int = 0
    number: int = 0
    half: int = Repeats.half
    edits: tuple[Edit, ...] = ()


def repeats(model_name: str, bos: bool, drawn: Repeats, edits: tuple[Edit, ...] = ()) -> tuple[Fed, ...]:
    """The names of the seeded random sequences."""
    return tuple(Fed(model_name, bos, None, drawn.seed, number, drawn.half, edits) for number in range(drawn.count))


def half_of(model: Transformer, bos: bool, half: int) -> int:
    """How many tokens come twice: 0 where the context or the vocabulary is too small for random repeats."""
    return min(half, most_half(model, bos)) if most_half(model, bos) >= SHORTEST else 0


def most_half(model: Transformer, bos: bool) -> int:
    """How many different tokens the context holds twice."""
    return min((model.cfg.n_ctx - bos) // 2, len(words(model)))


def words(model: Transformer) -> Int[np.ndarray, " word"]:
    """The vocabulary without special tokens, as far as the model embeds it."""

    def found() -> Int[np.ndarray, " word"]:
        return np.array([token for token in tokenizer_of(model).word_ids() if token < model.cfg.d_vocab])

    return runs.remembered(("words", model.source), found)


def edits_anywhere(edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Those of the edits that can be made on any sequence: they name no token of this prompt, nor one as long."""
    return tuple(edit for edit in edits if _is_anywhere(edit))


def _is_anywhere(edit: Edit) -> bool:
    match edit:
        case AblateHeads(by=by):
            return by != "resample"
        case Steer(positions=positions):
            return not positions
        case Drop() | FreezePatterns():
            return True
    return False


def tokens_of(fed: Fed) -> tuple[Transformer, Int[Tensor, " pos"], int]:
    """The model, its tokens, and how many of these stand before the first copy.

    Raises:
        HeadlightError: the sequence cannot be run; or there are no random repeats for this model.
    """
    if fed.prompt is not None:
        model, tokens, _ = runs.fed(fed.model, fed.prompt, fed.bos)
        return model, tokens, 0
    model = models.open_model(fed.model)
    half = half_of(model, fed.bos, fed.half)
    if half == 0:
        raise InputError(
            f"The context or the vocabulary of {fed.model} does not hold {SHORTEST} different tokens twice, so that "
            "there are no random repeats to look for heads on. Look at your own prompts instead."
        )
    start = tokenizer_of(model).bos_token_id if fed.bos else None
    before = torch.tensor([] if start is None else [start], dtype=torch.long)
    rng = np.random.default_rng([fed.seed, fed.number])
    tokens = torch.cat([before, repeated_halves(1, half, words(model), rng)[0]])
    budget = Cost(settings().run_gib * GIB, settings().run_seconds)
    limits.check_cost(len(tokens), lambda n_tokens: cost(model.cfg, n_tokens), budget)
    return model, tokens, len(before)


def editing(fed: Fed, running: Transformer, tokens: Int[Tensor, "1 pos"]) -> EditTap:
    """The tap that makes the sequence's edits.

    Raises:
        HeadlightError: this model does not allow one of them.
    """
    return tap(running, tokens, fed.edits, fed.bos)
