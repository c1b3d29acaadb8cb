"""Continue a run's prompt with a decoder-only model, keeping the distributions that tokens were sampled from.

Tokens are drawn on the CPU, whatever the runs are made on: on another device the same seed draws others.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.base.source import Source
from headlight.model.decoding.distributions import Distributions, Sampling, distributions
from headlight.model.decoding.drawing import Drawing
from headlight.model.decoding.written import Reason
from headlight.model.runs.edits.edited import Means
from headlight.model.runs.run import Run, make_run, means_of

STEPS_AT_ONCE = 64  # whose logits over the whole vocabulary are in memory together


@dataclass(frozen=True)
class Writing:
    """Settings of a continuation: `n_new` tokens, the first of which are `prefix`; the others are sampled.

    With `stop` nothing is written behind a token that ends a text.
    """

    n_new: int
    sampling: Sampling
    seed: int = 0
    prefix: tuple[int, ...] = ()
    stop: bool = True

    def ends_of(self, run: Run) -> tuple[int, ...]:
        """The tokens that end the writing, if any are to."""
        return run.model.stop_tokens if self.stop else ()

    def given_to(self, run: Run) -> tuple[int, ...]:
        """The prefix, cut to `n_new` tokens and behind the first token that ends the text."""
        prefix, ends = self.prefix[: self.n_new], self.ends_of(run)
        last = next((place for place, token in enumerate(prefix) if token in ends), len(prefix))
        return prefix[: last + 1]


@dataclass(frozen=True, eq=False)
class Written:
    """A prompt and its continuation; immutable.

    `run` is one pass over the prompt's tokens and all that were written, with the edits that the prompt's run has. The
    first `n_given` of these were put there by the user. Each was written at the position before its own, from that
    position's `final` stream. `log_probs` are the model's own, `entropies` those of its own distribution and of the one
    that was drawn from; all in nats.
    """

    run: Run
    n_given: int
    sampling: Sampling
    reason: Reason
    final: Float[Tensor, "step d_model"]
    log_probs: Float[Tensor, " step"]
    entropies: Float[Tensor, "two step"]

    @property
    def source(self) -> Source:
        """Origin of the model."""
        return self.run.source

    @property
    def key(self) -> tuple[Hashable, ...]:
        """A hashable identity of its distributions."""
        return *self.run.key, self.sampling

    @property
    def n_prompt(self) -> int:
        """Number of tokens of the prompt."""
        return len(self.run.tokens) - len(self.run.written)

    @property
    def tokens(self) -> Int[Tensor, " step"]:
        """The written token ids."""
        return self.run.tokens[self.n_prompt :]

    @property
    def labels(self) -> tuple[str, ...]:
        """The written tokens' labels."""
        return self.run.labels[self.n_prompt :]

    def logits(self, step: int | slice = slice(None)) -> Float[Tensor, "*step d_vocab"]:
        """The logits that a step's token was drawn from; those of all steps may be larger than the model."""
        steps = slice(step, step + 1) if isinstance(step, int) else step
        with torch.inference_mode():
            logits = self.run.model.to_logits(self.final[None, steps])[0]
        return logits[0] if isinstance(step, int) else logits

    def chances(self, step: int | slice = slice(None)) -> Distributions:
        """The distributions over the whole vocabulary, before and after temperature, top-k and top-p."""
        return distributions(self.logits(step), self.sampling)

    def query(self, step: int) -> int:
        """The position at which a step's token was written: the one before its own."""
        return self.n_prompt + step - 1


def continue_run(run: Run, how: Writing) -> Written:
    """Continue the run's prompt, with the run's edits at every step.

    Raises:
        HeadlightError: a token of the prefix that the model does not have, or no room for the prefix.
    """
    prefix, ends = how.given_to(run), how.ends_of(run)
    _check_given(run, prefix)

    def write() -> Written:
        with run.host.turn(), torch.inference_mode():
            tokens, reason = _continued(run, prefix, how, ends)
            return _read(run, tokens, len(prefix), how.sampling, reason, means_of(run))

    return run.keep(("continued", prefix, how.n_new, how.sampling, how.seed, ends), write)


def forced(run: Run, tokens: tuple[int, ...], sampling: Sampling) -> Written:
    """A run's distributions where it is made to write these tokens, or as many of them as its context has room for.

    Raises:
        HeadlightError: a token that the model does not have.
    """
    tokens = tokens[: run.cfg.n_ctx - len(run.tokens)]
    _check_given(run, tokens)

    def write() -> Written:
        means = means_of(run)
        with run.host.turn(), torch.inference_mode():
            return _read(run, tokens, len(tokens), sampling, "length", means)

    return run.keep(("forced", tokens, sampling), write)


def _check_given(run: Run, prefix: tuple[int, ...]) -> None:
    for token in prefix:
        if token >= run.cfg.d_vocab:
            raise InputError(
                f"Token {token} was to be written, but this model's ids go from 0 to {run.cfg.d_vocab - 1}. "
                "Start over from the prompt."
            )
    if (n_tokens := len(run.tokens) + len(prefix)) > run.cfg.n_ctx:
        raise InputError(
            f"The prompt and the {len(prefix)} tokens kept behind it are {n_tokens:,}; this model's context holds "
            f"{run.cfg.n_ctx:,}. Start over from the prompt, or shorten it."
        )


def drawing_of(run: Run, how: Writing) -> Drawing:
    """The tokens that are drawn behind the prompt and the prefix: a host with a cache keeps them, to go on from there.

    Raises:
        HeadlightError: a token of the prefix that the model does not have, or no room for the prefix.
    """
    prefix = how.given_to(run)
    _check_given(run, prefix)
    return run.keep(("drawing", prefix, how.sampling, how.seed), lambda: Drawing(run, prefix, how.sampling, how.seed))


def _continued(
    run: Run, prefix: tuple[int, ...], how: Writing, ends: tuple[int, ...]
) -> tuple[tuple[int, ...], Reason]:
    """The tokens so far and their sampled continuation."""
    n_more = how.n_new - len(prefix)
    if prefix and prefix[-1] in ends:
        return prefix, "stop token"
    if n_more == 0:
        return prefix, "length"
    drawn, reason = drawing_of(run, how).take(n_more, ends)
    return (*prefix, *drawn), reason


def _read(
    run: Run, written: tuple[int, ...], n_given: int, sampling: Sampling, reason: Reason, means: Means
) -> Written:
    """One pass over the prompt and its continuation."""
    on = run.host.on_device(run.model)
    opened = run.tap.opened
    made = make_run(run.model, run.prompt, run.bos, run.tokens, run.edits, written, means, on, run.host, opened=opened)
    final = made.stream(made.cfg.n_layers)
    final = final[len(run.tokens) - 1 : -1] if written else final[:0]
    log_probs, entropies = _measured(made, final, torch.tensor(written, dtype=torch.long), sampling)
    return Written(made, n_given, sampling, reason, final, log_probs, entropies)


def _measured(
    run: Run, final: Float[Tensor, "step d_model"], tokens: Int[Tensor, " step"], sampling: Sampling
) -> tuple[Float[Tensor, " step"], Float[Tensor, "two step"]]:
    """The tokens' log-probabilities, and the entropies before and after the cuts (nats)."""
    log_probs, entropies = final.new_zeros(len(tokens)), final.new_zeros(2, len(tokens))
    for begin in range(0, len(tokens), STEPS_AT_ONCE):
        steps = slice(begin, begin + STEPS_AT_ONCE)
        logits = run.model.to_logits(final[None, steps])[0]
        chances = distributions(logits, sampling)
        log_probs[steps] = logits.log_softmax(-1).gather(1, tokens[steps, None])[:, 0]
        entropies[0, steps], entropies[1, steps] = (
            torch.special.entr(each).sum(-1) for each in (chances.before, chances.after)
        )
    return log_probs, entropies
