"""Temperature, top-k and top-p sampling."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from headlight.model.base.checks import check_size
from headlight.model.base.errors import ConfigError
from headlight.model.measure.best import best


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Sampling settings; by default, the model's own distribution.

    Logits are first divided by `temperature`: below 1 the likely tokens gain, and 0 leaves the likeliest alone, as
    greedy decoding does. Then all but the `top_k` likeliest tokens are dropped (those that tie with the last stay),
    then all but the fewest likeliest whose probabilities reach `top_p` together.

    Raises:
        ConfigError: a temperature below 0, a top_k below 1, or a top_p that is not above 0 and at most 1.

    Source: Fan et al. 2018 for top-k, Holtzman et al. 2020 for top-p.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not _is_number(self.temperature) or not 0 <= self.temperature < math.inf:
            raise ConfigError(
                f"temperature is {self.temperature!r}; it has to be a finite number of at least 0, and 0 is greedy."
            )
        if self.top_k is not None:
            check_size("top_k", self.top_k)
        if not _is_number(self.top_p) or not 0 < self.top_p <= 1:
            raise ConfigError(f"top_p is {self.top_p!r}; it has to be above 0 and at most 1, which keeps every token.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class Distributions:
    """Next-token probabilities: the model's own, and those sampled from, 0 for dropped tokens."""

    before: Float[Tensor, "*row d_vocab"]
    after: Float[Tensor, "*row d_vocab"]


def distributions(logits: Float[Tensor, "*row d_vocab"], sampling: Sampling) -> Distributions:
    """The distribution over the next token before and after temperature, top-k and top-p."""
    return Distributions(before=logits.softmax(-1), after=_drawn_with(logits, sampling))


def _drawn_with(logits: Float[Tensor, "*row d_vocab"], sampling: Sampling) -> Float[Tensor, "*row d_vocab"]:
    if sampling.temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    # In double precision and below the largest, a temperature next to 0 divides without infinities above.
    scaled = (logits - logits.amax(-1, keepdim=True)).double() / sampling.temperature
    if sampling.top_k is not None:
        least = best(scaled, sampling.top_k).values[..., -1:]
        scaled = scaled.masked_fill(scaled < least, -torch.inf)
    if sampling.top_p < 1:
        scaled = scaled.masked_fill(~_nucleus(scaled.softmax(-1), sampling.top_p), -torch.inf)
    return scaled.softmax(-1).to(logits.dtype)


def _nucleus(probabilities: Float[Tensor, "*row d_vocab"], top_p: float) -> Bool[Tensor, "*row d_vocab"]:
    """The fewest likeliest tokens that reach `top_p` together: each before which it is not reached yet."""
    ranked, order = probabilities.sort(descending=True, stable=True)
    not_reached = ranked.cumsum(-1) - ranked < top_p
    return torch.empty_like(not_reached).scatter(-1, order, not_reached)
