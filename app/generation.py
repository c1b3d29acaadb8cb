"""What a decoder-only model writes behind a prompt, and what each of its tokens was drawn from.

Tokens are drawn on the CPU, whatever the runs are made on: on another device the same seed draws others, and neither a
link nor a script would bring them back.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from app import limits, runs
from app.limits import GIB, Cost
from app.run import Run, cost, make_run
from app.selection import Selection
from app.selection.chosen import MOST_NEW
from app.settings import settings
from model.decoding import Distributions, Reason, Sampling, distributions, sample, sample_anew
from model.editing import Means, tap
from model.edits import sources
from model.errors import ConfigError, InputError
from model.hooks import Tap
from model.source import Source
from model.tokenizer import Tokenizer

MOST_CANDIDATES = 15  # tokens that are listed for a step
END_OF_TEXT = "<|endoftext|>"


@dataclass(frozen=True, eq=False)
class Candidates:
    """Tokens that could be written at each step.

    `before` is the model's own probability, `after` the one that the token was drawn with: 0 where it was cut off. A
    rank is 1 for the likeliest.
    """

    tokens: Int[Tensor, "step candidate"]
    ranks: Int[Tensor, "step candidate"]
    before: Float[Tensor, "step candidate"]
    after: Float[Tensor, "step candidate"]


@dataclass(frozen=True, eq=False)
class Written:
    """A prompt and what was written behind it; immutable.

    `run` is one pass over the prompt's tokens and all that were written, with the edits that the prompt's run has. The
    first `n_given` of these were put there by the user. Each was written at the position before its own, with these
    `logits`. `log_probs` are the model's own, `entropies` those of its own distribution and of the one that was drawn
    from; all in nats.
    """

    run: Run
    n_given: int
    sampling: Sampling
    reason: Reason
    logits: Float[Tensor, "step d_vocab"]
    log_probs: Float[Tensor, " step"]
    entropies: Float[Tensor, "two step"]

    @property
    def source(self) -> Source:
        """Where the model came from."""
        return self.run.source

    @property
    def key(self) -> tuple[Hashable, ...]:
        """What tells its distributions from every other's."""
        return *self.run.key, self.sampling

    @property
    def n_prompt(self) -> int:
        """How many tokens the prompt has."""
        return len(self.run.tokens) - len(self.run.written)

    @property
    def tokens(self) -> Int[Tensor, " step"]:
        """What was written."""
        return self.run.tokens[self.n_prompt :]

    @property
    def labels(self) -> tuple[str, ...]:
        """How the written tokens are shown."""
        return self.run.labels[self.n_prompt :]

    def chances(self, step: int | slice = slice(None)) -> Distributions:
        """The distributions over the whole vocabulary, before and after temperature, top-k and top-p."""
        return distributions(self.logits[step], self.sampling)

    def query(self, step: int) -> int:
        """The position at which a step's token was written: the one before its own."""
        return self.n_prompt + step - 1


def end_of_text(tokenizer: Tokenizer) -> int | None:
    """The token that ends a text, which in GPT-2's family also begins one; None where there is no such token."""
    token = tokenizer.bos_token_id
    return token if token is not None and tokenizer.to_string(torch.tensor([token])) == END_OF_TEXT else None


def sampling_of(chosen: Selection) -> Sampling:
    """How the selection asks for tokens to be drawn.

    Raises:
        ConfigError: a temperature, top-k or top-p that there is not.
    """
    return Sampling(temperature=chosen.temperature, top_k=chosen.top_k, top_p=chosen.top_p)


def given_of(run: Run, chosen: Selection) -> tuple[int, ...]:
    """The tokens that are written already: as many as are asked for, and none behind the end of the text."""
    given = chosen.written[: chosen.n_new]
    end = stop_of(run, chosen)
    return given[: given.index(end) + 1] if end in given else given


def stop_of(run: Run, chosen: Selection) -> int | None:
    """The token that ends the writing, if the selection wants one to."""
    return end_of_text(run.tokenizer) if chosen.stop else None


def of(run: Run, chosen: Selection) -> Written:
    """What a selection asks the run's model to write behind the run's prompt, with the run's edits at every step.

    Raises:
        HeadlightError: the selection, the model or the machine does not allow it; the message says what would.
    """
    if not 1 <= chosen.n_new <= MOST_NEW:
        raise ConfigError(f"{chosen.n_new} new tokens were asked for; it can be 1 to {MOST_NEW}.")
    given, end, sampling = given_of(run, chosen), stop_of(run, chosen), sampling_of(chosen)
    _check_given(run, given)
    _check_cost(run, chosen.n_new)
    key = (*run.key, "continued", given, chosen.n_new, sampling, chosen.seed, end)

    def write() -> Written:
        means = _means(run)
        with runs.turn(), torch.inference_mode():
            tokens, reason = _continued(run, given, chosen.n_new - len(given), chosen.seed, sampling, end, means)
            return _read(run, tokens, len(given), sampling, reason, means)

    return runs.remembered(key, write)


def forced(run: Run, tokens: tuple[int, ...], sampling: Sampling) -> Written:
    """A run's distributions where it is made to write these tokens, or as many of them as its context has room for.

    Raises:
        HeadlightError: a token that the model does not have, or the machine does not allow it.
    """
    tokens = tokens[: run.cfg.n_ctx - len(run.tokens)]
    _check_given(run, tokens)
    _check_cost(run, len(tokens))

    def write() -> Written:
        means = _means(run)
        with runs.turn(), torch.inference_mode():
            return _read(run, tokens, len(tokens), sampling, "length", means)

    return runs.remembered((*run.key, "forced", tokens, sampling), write)


def likeliest(
    probabilities: Float[Tensor, "step d_vocab"], *written: Int[Tensor, " step"]
) -> Int[Tensor, "step candidate"]:
    """At each step the likeliest tokens from the top down, the last of which give way to written ones that are not."""
    wanted = probabilities.clone()
    for each in written:
        wanted.scatter_(1, each[:, None], torch.inf)
    tokens = wanted.topk(min(MOST_CANDIDATES, wanted.shape[1])).indices
    order = probabilities.gather(1, tokens).argsort(dim=1, descending=True, stable=True)
    return tokens.gather(1, order)


def candidates(found: Written, tokens: Int[Tensor, "step candidate"]) -> Candidates:
    """How likely these tokens were at each of the first steps."""
    steps = slice(len(tokens))
    chances, logits = found.chances(steps), found.logits[steps]
    own = logits.gather(1, tokens)
    ranks = torch.stack([(logits > each[:, None]).sum(-1) + 1 for each in own.unbind(1)], 1)
    return Candidates(tokens, ranks, chances.before.gather(1, tokens), chances.after.gather(1, tokens))


def _check_given(run: Run, given: tuple[int, ...]) -> None:
    for token in given:
        if token >= run.cfg.d_vocab:
            raise InputError(
                f"Token {token} was to be written, but this model's ids go from 0 to {run.cfg.d_vocab - 1}. "
                "Start over from the prompt."
            )
    if (n_tokens := len(run.tokens) + len(given)) > run.cfg.n_ctx:
        raise InputError(
            f"The prompt and the {len(given)} tokens kept behind it are {n_tokens:,}; this model's context holds "
            f"{run.cfg.n_ctx:,}. Start over from the prompt, or shorten it."
        )


def _check_cost(run: Run, n_new: int) -> None:
    """With edits every step runs the whole text anew, and so the prompts that they take from."""
    passes = n_new * sum(1 + len(sources(edit)) for edit in run.edits) + 1

    def of_all(n_tokens: int) -> Cost:
        once = cost(run.cfg, n_tokens)
        return Cost(once.nbytes, once.seconds * passes)

    limits.check_cost(len(run.tokens) + n_new, of_all, Cost(settings().run_gib * GIB, settings().run_seconds))


def _means(run: Run) -> Means:
    """The means over other prompts that the run's edits need."""
    return runs.means_of(run.edits, run.source.name, run.bos)


def _read(
    run: Run, written: tuple[int, ...], n_given: int, sampling: Sampling, reason: Reason, means: Means
) -> Written:
    """One pass over the prompt and what is written behind it."""
    made = make_run(run.model, run.prompt, run.bos, run.tokens, run.edits, written, means)
    *_, final = made.streams()
    writing = final[None, len(run.tokens) - 1 : -1] if written else final[None, :0]
    logits = run.model.unembed(run.model.ln_final(writing, Tap()))[0]
    chances = distributions(logits, sampling)
    chosen = torch.tensor(written, dtype=torch.long)
    return Written(
        run=made,
        n_given=n_given,
        sampling=sampling,
        reason=reason,
        logits=logits,
        log_probs=logits.log_softmax(-1).gather(1, chosen[:, None])[:, 0],
        entropies=torch.stack([torch.special.entr(each).sum(-1) for each in (chances.before, chances.after)]),
    )


def _continued(
    run: Run, given: tuple[int, ...], n_more: int, seed: int, sampling: Sampling, end: int | None, means: Means
) -> tuple[tuple[int, ...], Reason]:
    """The tokens so far and those that are drawn behind them."""
    if given and given[-1] == end:
        return given, "stop token"
    if n_more == 0:
        return given, "length"
    begun = torch.cat([run.tokens, torch.tensor(given, dtype=torch.long)])[None]
    generator, stop = torch.Generator().manual_seed(seed), () if end is None else (end,)
    how: dict[str, Any] = {
        "sampling": sampling,
        "generator": generator,
        "max_new_tokens": n_more,
        "stop_tokens": stop,
    }
    if run.edits:
        drawn = sample_anew(lambda text: _logits(run, text, means), begun, cfg=run.cfg, **how)
    else:
        (drawn,) = sample(run.model, begun, **how)
    return (*given, *drawn.tokens.tolist()), drawn.reason


def _logits(run: Run, text: Int[Tensor, "1 pos"], means: Means) -> Float[Tensor, "1 pos d_vocab"]:
    """The logits of the prompt and what is written behind it, with the run's edits."""
    return run.model(text, tap=tap(run.model, text, run.edits, run.bos, len(run.tokens), means))
