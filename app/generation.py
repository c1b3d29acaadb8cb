"""What a decoder-only model writes behind a prompt, and what each of its tokens was drawn from.

Tokens are drawn on the CPU, whatever the runs are made on: on another device the same seed draws others, and neither a
link nor a script would bring them back.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from app import limits, runs
from app.limits import GIB, Cost
from app.run import Run, cost, make_run
from app.selection import Selection
from app.selection.chosen import MOST_NEW
from app.settings import settings
from model.decoding import Distributions, Reason, Sampling, distributions, sample
from model.errors import ConfigError, InputError
from model.hooks import Tap
from model.tokenizer import Tokenizer

MOST_CANDIDATES = 15  # tokens that are listed for a step
END_OF_TEXT = "<|endoftext|>"


@dataclass(frozen=True, eq=False)
class Candidates:
    """For each step the likeliest tokens, the last of which gives way to the written one where that is less likely.

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

    `run` is one pass over the prompt's tokens and all that were written. The first `n_given` of these were put there by
    the user. Each was written at the position before its own, with these `logits`. `log_probs` are the model's own,
    `entropies` those of its own distribution and of the one that was drawn from; all in nats. `key` tells it from every
    other: `run.key` is that of the prompt alone.
    """

    run: Run
    key: tuple[Hashable, ...]
    n_prompt: int
    n_given: int
    sampling: Sampling
    reason: Reason
    logits: Float[Tensor, "step d_vocab"]
    log_probs: Float[Tensor, " step"]
    entropies: Float[Tensor, "two step"]
    candidates: Candidates

    @property
    def tokens(self) -> Int[Tensor, " step"]:
        """What was written."""
        return self.run.tokens[self.n_prompt :]

    @property
    def labels(self) -> tuple[str, ...]:
        """How the written tokens are shown."""
        return self.run.labels[self.n_prompt :]

    def chances(self, step: int) -> Distributions:
        """A step's distribution over the whole vocabulary, before and after temperature, top-k and top-p."""
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
    """What a selection asks the run's model to write behind the run's prompt.

    Raises:
        HeadlightError: the selection, the model or the machine does not allow it; the message says what would.
    """
    if not 1 <= chosen.n_new <= MOST_NEW:
        raise ConfigError(f"{chosen.n_new} new tokens were asked for; it can be 1 to {MOST_NEW}.")
    given, end, sampling = given_of(run, chosen), stop_of(run, chosen), sampling_of(chosen)
    _check_given(run, given)
    budget = Cost(settings().run_gib * GIB, settings().run_seconds)
    limits.check_cost(len(run.tokens) + chosen.n_new, lambda n_tokens: cost(run.cfg, n_tokens), budget)
    key = (*run.key, "written", given, chosen.n_new, sampling, chosen.seed, end)
    return runs.remembered(key, lambda: _write(run, key, given, chosen, sampling, end))


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


def _write(
    run: Run, key: tuple[Hashable, ...], given: tuple[int, ...], chosen: Selection, sampling: Sampling, end: int | None
) -> Written:
    begun = torch.cat([run.tokens, torch.tensor(given, dtype=torch.long)])
    with runs.turn(), torch.inference_mode():
        tokens, reason = _continued(run, begun, chosen.n_new - len(given), chosen.seed, sampling, end)
        made = make_run(run.model, run.prompt, run.bos, tokens)
        *_, final = made.streams()
        writing = final[None, len(run.tokens) - 1 : -1]
        logits = run.model.unembed(run.model.ln_final(writing, Tap()))[0]
        chances = distributions(logits, sampling)
        written = tokens[len(run.tokens) :]
        return Written(
            run=made,
            key=key,
            n_prompt=len(run.tokens),
            n_given=len(given),
            sampling=sampling,
            reason=reason,
            logits=logits,
            log_probs=logits.log_softmax(-1).gather(1, written[:, None])[:, 0],
            entropies=torch.stack([torch.special.entr(each).sum(-1) for each in (chances.before, chances.after)]),
            candidates=_candidates(logits, chances, written),
        )


def _continued(
    run: Run, begun: Int[Tensor, " pos"], n_more: int, seed: int, sampling: Sampling, end: int | None
) -> tuple[Int[Tensor, " all"], Reason]:
    """The tokens so far and those that are drawn behind them."""
    if end is not None and len(begun) > len(run.tokens) and int(begun[-1]) == end:
        return begun, "stop token"
    if n_more == 0:
        return begun, "length"
    (drawn,) = sample(
        run.model,
        begun[None],
        sampling=sampling,
        generator=torch.Generator().manual_seed(seed),
        max_new_tokens=n_more,
        stop_tokens=() if end is None else (end,),
    )
    return torch.cat([begun, drawn.tokens]), drawn.reason


def _candidates(
    logits: Float[Tensor, "step d_vocab"], chances: Distributions, written: Int[Tensor, " step"]
) -> Candidates:
    tokens = logits.topk(min(MOST_CANDIDATES, logits.shape[-1])).indices
    missing = ~(tokens == written[:, None]).any(1)
    tokens[missing, -1] = written[missing]
    own = logits.gather(1, tokens)
    ranks = torch.stack([(logits > each[:, None]).sum(-1) + 1 for each in own.unbind(1)], 1)
    return Candidates(tokens, ranks, chances.before.gather(1, tokens), chances.after.gather(1, tokens))
