"""Generated tokens and stopping criteria."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.base.checks import check_size
from headlight.model.base.errors import InputError
from headlight.model.decoding.steps import Steps

Reason = Literal["stop token", "length", "context"]


@dataclass(frozen=True)
class Generation:
    """Tokens generated for one row of the prompt, and the reason of the end: "stop token", "length" or "context".

    `log_probs` are the model's own, in nats, whatever temperature, top-k or top-p it was drawn with. A stop token is
    the last of `tokens`. "length" is `max_new_tokens`; "context" says that no position was left.
    """

    tokens: Int[Tensor, " new"]
    log_probs: Float[Tensor, " new"]
    reason: Reason


@dataclass(frozen=True)
class Limits:
    """Stopping criteria: the maximum number of tokens, the reason given when it is reached, and end tokens."""

    n_new: int
    reason: Reason
    stop_tokens: frozenset[int]


def limits(steps: Steps, max_new_tokens: int | None, stop_tokens: Collection[int] | None) -> Limits:
    """Stopping criteria of these steps: the context's end or a smaller number, and the model's end tokens.

    Raises:
        ConfigError: max_new_tokens below 1.
        InputError: a stop token that is not in the vocabulary.
    """
    if max_new_tokens is not None:
        check_size("max_new_tokens", max_new_tokens)
    stops = frozenset(steps.default_stop_tokens if stop_tokens is None else stop_tokens)
    for token in stops:
        if not 0 <= token < steps.d_vocab:
            raise InputError(
                f"Stop token {token} is not in the vocabulary, whose ids go from 0 to {steps.d_vocab - 1}."
            )
    if max_new_tokens is None or max_new_tokens > steps.n_free:
        return Limits(steps.n_free, "context", stops)
    return Limits(max_new_tokens, "length", stops)
