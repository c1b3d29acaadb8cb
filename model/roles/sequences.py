"""The sequences that heads are looked at on: random tokens that come twice, or a prompt; edited or not."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.edits import AblateHeads, AblateNeurons, ClampNeurons, Drop, Edit, FreezePatterns, Steer
from headlight.model.runs.host import HERE, Host
from headlight.model.runs.run import tokenizer_of
from headlight.model.text.chat import Begin, is_begun

MIN_REPEAT_LENGTH = 4  # tokens


@dataclass(frozen=True, eq=False)
class Sequence:
    """Tokens that a model reads, with the edits of the run over them; `start` of them stand before the first copy."""

    model: Transformer
    tokens: Int[Tensor, " pos"]
    bos: Begin
    start: int = 0
    edits: tuple[Edit, ...] = ()
    host: Host = HERE


def prompt(model: Transformer, text: str, bos: Begin = True, edits: tuple[Edit, ...] = ()) -> Sequence:
    """A prompt as a sequence.

    Raises:
        HeadlightError: the model does not take it.
    """
    return Sequence(model, model.to_tokens(text, prepend_bos=bos)[0], bos, 0, edits)


def random_repeat(
    model: Transformer,
    bos: Begin,
    seed: int,
    number: int,
    repeat_length: int,
    edits: tuple[Edit, ...] = (),
    host: Host = HERE,
) -> Sequence:
    """One of the seeded sequences of `repeat_length` different random tokens, twice.

    Raises:
        InputError: the context or the vocabulary is too small for that.
    """
    repeat_length = fitting_repeat_length(model, bos, repeat_length, host)
    if repeat_length == 0:
        name = model.source.name if model.source else "this model"
        raise InputError(
            f"The context or the vocabulary of {name} does not hold {MIN_REPEAT_LENGTH} different tokens twice, so "
            "that there are no random repeats to look for heads on. Look at your own prompts instead."
        )
    start = tokenizer_of(model).bos_token_id if is_begun(bos) else None
    before = torch.tensor([] if start is None else [start], dtype=torch.long)
    tokens = repeated_halves(1, repeat_length, words(model, host), np.random.default_rng([seed, number]))[0]
    return Sequence(model, torch.cat([before, tokens]), bos, len(before), edits, host)


def repeated_halves(
    n_rows: int, repeat_length: int, symbols: Int[np.ndarray, " symbol"], rng: np.random.Generator
) -> Int[Tensor, "batch pos"]:
    """Rows of `repeat_length` different random tokens, twice, on which repeats are measured.

    Different, because a token that stands twice in one half would leave open what follows it.

    Source: the repeated random sequences of Olsson et al. 2022, "In-context Learning and Induction Heads".
    """
    first = np.stack([rng.choice(symbols, size=repeat_length, replace=False) for _ in range(n_rows)])
    return torch.from_numpy(np.concatenate([first, first], axis=1))


def fitting_repeat_length(model: Transformer, bos: Begin, repeat_length: int, host: Host = HERE) -> int:
    """Number of tokens that are repeated; 0 where context or vocabulary is too small for random repeats."""
    most = max_repeat_length(model, bos, host)
    return min(repeat_length, most) if most >= MIN_REPEAT_LENGTH else 0


def max_repeat_length(model: Transformer, bos: Begin, host: Host = HERE) -> int:
    """Maximum number of different tokens that the context holds twice."""
    return min((model.cfg.n_ctx - is_begun(bos)) // 2, len(words(model, host)))


def words(model: Transformer, host: Host = HERE) -> Int[np.ndarray, " word"]:
    """The vocabulary without special tokens, as far as the model embeds it."""

    def word_ids_in_vocabulary() -> Int[np.ndarray, " word"]:
        return np.array([token for token in tokenizer_of(model).word_ids() if token < model.cfg.d_vocab])

    return host.keep(("words", model.source), word_ids_in_vocabulary)


def edits_anywhere(edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Edits that apply to any sequence: they refer to no token of this prompt and to no prompt of equal length."""
    return tuple(edit for edit in edits if _is_anywhere(edit))


def _is_anywhere(edit: Edit) -> bool:
    match edit:
        case AblateHeads(by=by):
            return by != "resample"
        case AblateNeurons(by=by, positions=positions):
            return by != "resample" and not positions
        case Steer(positions=positions) | ClampNeurons(positions=positions):
            return not positions
        case Drop() | FreezePatterns():
            return True
    return False
