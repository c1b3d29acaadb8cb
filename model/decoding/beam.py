"""Beam search: the best continuations, and the tree of all expansions."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.base.checks import check_size
from headlight.model.base.errors import ConfigError
from headlight.model.decoding.steps import Model, PromptMask, PromptTokens, Steps, TargetTokens, start
from headlight.model.decoding.written import Generation, Limits, Reason, limits
from headlight.model.measure.best import best
from headlight.model.nn.hooks import NO_TAP, Tap

Fate = Literal["kept", "finished", "dropped"]


@dataclass(frozen=True)
class Expansion:
    """One token put behind a beam: a node of the tree.

    `parent` is the index in the tree of what it continues, None for the prompt; `n_tokens` counts from the prompt's
    end, this token included. `log_prob` is the token's own, `total` the sum down to it, both in nats; `score` is
    total / n_tokens ** length_power. It was kept, finished by a stop token, or dropped for better ones.
    """

    parent: int | None
    token: int
    n_tokens: int
    log_prob: float
    total: float
    score: float
    fate: Fate


@dataclass(frozen=True)
class Hypothesis(Generation):
    """A whole continuation with its score (see `Expansion`); `leaf` is the index of its last token in the tree."""

    score: float
    leaf: int | None


@dataclass(frozen=True)
class BeamSearch:
    """The best hypotheses of one prompt, best first, and every expansion that was looked at, step by step."""

    best: tuple[Hypothesis, ...]
    tree: tuple[Expansion, ...]

    def path(self, leaf: int | None) -> tuple[int, ...]:
        """The tokens from the prompt's end down to a place in the tree."""
        return tuple(expansion.token for expansion in _branch(self.tree, leaf))


def _branch(tree: Sequence[Expansion], leaf: int | None) -> list[Expansion]:
    """The tokens from the prompt to a node of the tree."""
    branch: list[Expansion] = []
    while leaf is not None:
        branch.insert(0, tree[leaf])
        leaf = tree[leaf].parent
    return branch


def beam_search(
    model: Model,
    prompt: PromptTokens,
    attention_mask: PromptMask = None,
    *,
    n_beams: int = 4,
    n_best: int = 1,
    length_power: float = 1.0,
    target: TargetTokens = None,
    first_token: int | None = None,
    max_new_tokens: int | None = None,
    stop_tokens: Collection[int] | None = None,
    tap: Tap = NO_TAP,
) -> tuple[BeamSearch, ...]:
    """The `n_best` highest-scoring continuations found with `n_beams` beams, for each row of the prompt.

    The score is the sum of log-probabilities divided by (number of new tokens) ** `length_power`, the stop token
    counted: 0 compares sums, which favours the short, 1 compares means. The search goes on until no longer continuation
    can have a better score. Where `first_token` is set, every continuation begins with it, at probability 1. Rows are
    searched one after the other, without their padding. All else is as in `greedy`.

    Raises:
        ConfigError: n_beams below 1, n_best not from 1 to n_beams, a length_power below 0, or as `greedy`.
        InputError: as `greedy`.

    Source: transformers' generate for the formula and for which expansions are looked at; Wu et al. 2016, section 7,
    divide by ((5 + length) / 6) ** alpha instead.
    """
    check_size("n_beams", n_beams)
    check_size("n_best", n_best)
    if n_best > n_beams:
        raise ConfigError(f"n_best is {n_best}; {n_beams} beams find from 1 to {n_beams}. Raise n_beams or lower it.")
    if not isinstance(length_power, int | float) or not 0 <= length_power < math.inf:
        raise ConfigError(f"length_power is {length_power!r}; it has to be a finite number of at least 0.")
    with torch.inference_mode():
        start(model, prompt, attention_mask, target, NO_TAP)  # refuses what is wrong with any of the rows
        hypotheses = []
        for row in range(len(prompt)):
            real = ... if attention_mask is None else attention_mask[row].bool()
            steps = start(model, prompt[row, real][None], None, None if target is None else target[row : row + 1], tap)
            limit = limits(steps, max_new_tokens, stop_tokens)
            hypotheses.append(_Search(steps, limit, n_beams, float(length_power), first_token).run(n_best))
    return tuple(hypotheses)


class _Search:
    """The search from one prompt; `live` are the indices in the tree of the beams, one for each row of the steps."""

    def __init__(
        self, steps: Steps, limits: Limits, n_beams: int, length_power: float, first_token: int | None
    ) -> None:
        self.first_token = first_token
        self.steps, self.limits, self.n_beams, self.length_power = steps, limits, n_beams, length_power
        self.tree: list[Expansion] = []
        self.live: list[int | None] = [None]
        self.finished: list[int] = []

    def run(self, n_best: int) -> BeamSearch:
        inputs = self.steps.prompt
        for n_tokens in range(1, self.limits.n_new + 1):
            log_probs = self.steps.feed(inputs).double().log_softmax(-1)
            if n_tokens == 1 and self.first_token is not None:
                log_probs = torch.full_like(log_probs, -math.inf)
                log_probs[:, self.first_token] = 0.0
            parents = self._expand(log_probs, n_tokens)
            if self._nothing_better(n_best):
                self.live = []
                break
            self.steps.select(inputs.new_tensor(parents))
            inputs = inputs.new_tensor([[self.tree[leaf].token] for leaf in self.live if leaf is not None])
        leaves = sorted([*self.finished, *self.live], key=self._score, reverse=True)
        return BeamSearch(tuple(map(self._hypothesis, leaves[:n_best])), tuple(self.tree))

    def _expand(self, log_probs: Float[Tensor, "beam d_vocab"], n_tokens: int) -> list[int]:
        """Look at the best expansions, decide each one's fate, and give the row of the parent of each that is kept."""
        beams, parents = self.live, list[int]()
        self.live = []
        for rank, (row, token, total) in enumerate(self._ranked(log_probs, beams)):
            if token in self.limits.stop_tokens:
                fate: Fate = "finished" if rank < self.n_beams else "dropped"
            else:
                fate = "kept" if len(self.live) < self.n_beams else "dropped"
            if fate == "kept":
                self.live.append(len(self.tree))
                parents.append(row)
            elif fate == "finished":
                self.finished.append(len(self.tree))
            score = total / n_tokens**self.length_power
            self.tree.append(Expansion(beams[row], token, n_tokens, float(log_probs[row, token]), total, score, fate))
        return parents

    def _ranked(
        self, log_probs: Float[Tensor, "beam d_vocab"], beams: Sequence[int | None]
    ) -> list[tuple[int, int, float]]:
        """The best expansions as (row, token, total), so many that n_beams of them end with no stop token."""
        before = log_probs.new_tensor([0.0 if leaf is None else self.tree[leaf].total for leaf in beams])
        totals = (before[:, None] + log_probs).flatten()
        n_looked_at = self.n_beams * (1 + max(1, len(self.limits.stop_tokens)))
        first = best(totals, n_looked_at)
        places = (divmod(index, self.steps.d_vocab) for index in first.indices.tolist())
        ranked = zip(places, first.values.tolist(), strict=True)
        return [(row, token, total) for (row, token), total in ranked if total > -math.inf]

    def _nothing_better(self, n_best: int) -> bool:
        """Whether no beam can come to a better score than the n_best that are finished: its total can only fall."""
        attainable = [
            self.tree[leaf].total / self.limits.n_new**self.length_power for leaf in self.live if leaf is not None
        ]
        scores = sorted(map(self._score, self.finished), reverse=True)
        return not attainable or (len(scores) >= n_best and scores[n_best - 1] >= max(attainable))

    def _score(self, leaf: int | None) -> float:
        return 0.0 if leaf is None else self.tree[leaf].score

    def _hypothesis(self, leaf: int | None) -> Hypothesis:
        reason: Reason = "stop token" if leaf in self.finished else self.limits.reason
        path, prompt = _branch(self.tree, leaf), self.steps.prompt
        tokens = prompt.new_tensor([expansion.token for expansion in path])
        log_probs = torch.tensor([expansion.log_prob for expansion in path], device=prompt.device)
        return Hypothesis(tokens, log_probs, reason, self._score(leaf), leaf)
