"""Writing one continuation of each prompt: the likeliest token at every step, or one drawn by chance."""

from collections.abc import Callable, Collection

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.decoding.distributions import Sampling, distributions
from headlight.model.decoding.steps import (
    LogitsOf,
    Model,
    PromptMask,
    PromptTokens,
    Steps,
    TargetTokens,
    WholeSteps,
    start,
)
from headlight.model.decoding.written import Generation, Limits, limits
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import NO_TAP, Tap

Choose = Callable[[Float[Tensor, "row d_vocab"]], Int[Tensor, " row"]]


def greedy(
    model: Model,
    prompt: PromptTokens,
    attention_mask: PromptMask = None,
    *,
    target: TargetTokens = None,
    max_new_tokens: int | None = None,
    stop_tokens: Collection[int] | None = None,
    tap: Tap = NO_TAP,
) -> tuple[Generation, ...]:
    """The likeliest token at every step, for each row of the prompt.

    An encoder-decoder reads `prompt` as its source and goes on from `target`, or from its start token; where no
    `stop_tokens` are set a model stops at its own (`model.stop_tokens`; `()` for none). `attention_mask` is 1 for the
    prompt's real tokens and 0 for its padding, left or right. Without `max_new_tokens` the context is the limit. `tap`
    sees, and may replace, every activation of each step: of the prompt first, then of each new token alone, whose keys
    and values are kept for the later steps as the tap left them. A row that has ended stays in the batch, unheard.

    Raises:
        ConfigError: max_new_tokens below 1, or a model that does not write from left to right.
        InputError: tokens or a mask that the model cannot take, a row of padding alone, a stop token that is not in the
            vocabulary, or a target for a decoder-only model.
    """
    with torch.inference_mode():
        steps = start(model, prompt, attention_mask, target, tap)
        return _write(steps, limits(steps, max_new_tokens, stop_tokens), lambda logits: logits.argmax(-1))


def sample(
    model: Model,
    prompt: PromptTokens,
    attention_mask: PromptMask = None,
    *,
    sampling: Sampling,
    generator: torch.Generator,
    target: TargetTokens = None,
    max_new_tokens: int | None = None,
    stop_tokens: Collection[int] | None = None,
    tap: Tap = NO_TAP,
) -> tuple[Generation, ...]:
    """A token drawn by chance at every step, for each row of the prompt.

    A generator with the same seed draws the same tokens for the same batch. All else is as in `greedy`.

    Raises:
        ConfigError: as `greedy`.
        InputError: as `greedy`.
    """
    with torch.inference_mode():
        steps = start(model, prompt, attention_mask, target, tap)
        return _write(steps, limits(steps, max_new_tokens, stop_tokens), draw_with(sampling, generator))


def sample_anew(
    logits_of: LogitsOf,
    prompt: Int[Tensor, "1 pos"],
    *,
    cfg: TransformerConfig,
    sampling: Sampling,
    generator: torch.Generator,
    max_new_tokens: int | None = None,
    stop_tokens: Collection[int] = (),
) -> Generation:
    """Tokens drawn as `sample` draws them, from `logits_of` the whole text so far at every step: nothing is kept.

    This is for runs that are changed on the way by what has to see all positions at once, as edits do.

    Raises:
        ConfigError: max_new_tokens below 1.
        InputError: a prompt that a model with this `cfg` cannot take, or a stop token that is not in the vocabulary.
    """
    with torch.inference_mode():
        steps = WholeSteps(logits_of, prompt, cfg)
        (written,) = _write(steps, limits(steps, max_new_tokens, stop_tokens), draw_with(sampling, generator))
    return written


def draw_with(sampling: Sampling, generator: torch.Generator) -> Choose:
    """Choose each row's next token from its logits by chance."""
    return lambda logits: torch.multinomial(distributions(logits, sampling).after, 1, generator=generator).squeeze(1)


def _write(steps: Steps, limit: Limits, choose: Choose) -> tuple[Generation, ...]:
    """Step until every row has met a stop token, or the limit is reached."""
    n_rows = len(steps.prompt)
    tokens = steps.prompt.new_empty(n_rows, limit.n_new)
    log_probs = torch.empty(n_rows, limit.n_new, device=tokens.device)
    lengths: list[int | None] = [None] * n_rows
    inputs = steps.prompt
    for step in range(limit.n_new):
        logits = steps.feed(inputs)
        tokens[:, step] = chosen = choose(logits)
        inputs = chosen.unsqueeze(1)
        log_probs[:, step] = logits.log_softmax(1).gather(1, inputs).squeeze(1)
        for row, token in enumerate(chosen.tolist()):
            if lengths[row] is None and token in limit.stop_tokens:
                lengths[row] = step + 1
        if None not in lengths:
            break
    return tuple(
        Generation(tokens[row, :length], log_probs[row, :length], limit.reason if length is None else "stop token")
        for row, length in enumerate(lengths)
    )
