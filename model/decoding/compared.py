"""Continuations of prompts A and B, step by step."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.decoding.continued import STEPS_AT_ONCE, Writing, Written, continue_run, forced
from headlight.model.measure.alignment import Align, Alignment, align_positions, aligned
from headlight.model.measure.attention import js_divergence
from headlight.model.measure.best import best
from headlight.model.runs.comparison import Comparison

MAX_CANDIDATES = 15  # tokens that are listed for a step
BWrites = Literal["same", "own"]


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
class Continuations:
    """A's continuation and, with a run B, B's `own` and `b`, which is compared with A's step by step.

    That is B's own text, or B made to write the tokens that A wrote.
    """

    a: Written
    own: Written | None = None
    b: Written | None = None
    align: Align = "tokens"

    @property
    def sides(self) -> dict[str, Written]:
        """The continuations to compare, by the runs' names."""
        return {"A": self.a} if self.b is None else {"A": self.a, "B": self.b}

    @property
    def n_compared(self) -> int:
        """Number of steps that both have."""
        return min(len(each.labels) for each in self.sides.values())

    @cached_property
    def comparison(self) -> Comparison:
        """The runs over prompts and written tokens, on the axis that they have in common."""
        if self.b is None:
            return Comparison(self.a.run)
        return Comparison(self.a.run, self.b.run, _alignment(self.a, self.b, self.align))

    def place(self, step: int) -> int:
        """Place on the axis of a step's token."""
        return self.comparison.positions(self.a.run).index(self.a.query(step))

    def candidates(self) -> dict[str, Candidates]:
        """For each step the most likely tokens in A or in B, and the generated ones."""
        key = tuple(each.key for each in self.sides.values())
        return self.a.run.host.keep(("candidates", *key), self._candidates)

    def _candidates(self) -> dict[str, Candidates]:
        n, last = self.n_compared, len(self.a.labels)
        blocks = [self._candidates_of(self.sides, steps) for steps in blocks_of(0, n)]
        alone = [self._candidates_of({"A": self.a}, steps) for steps in blocks_of(n, last)] if last > n else []
        listed = {side: [block[side] for block in blocks] for side in self.sides}
        listed["A"] += [block["A"] for block in alone]
        return {side: joined(each) for side, each in listed.items()}

    def _candidates_of(self, sides: dict[str, Written], steps: slice) -> dict[str, Candidates]:
        n_ids = max(each.run.cfg.d_vocab for each in sides.values())
        before = (widened(each.chances(steps).before, n_ids) for each in sides.values())
        probabilities = torch.stack([*before]).amax(0)
        tokens = likeliest(probabilities, *(each.tokens[steps] for each in sides.values()))
        return {side: candidates(each, tokens, steps) for side, each in sides.items()}

    def divergence(self) -> Float[Tensor, "two step"]:
        """Jensen-Shannon divergence of A and B at each step that both have, before and after the cuts (nats)."""
        a, b = self.sides.values()  # called only where there are two
        return self.a.run.host.keep(("apart", a.key, b.key), lambda: divergence(a, b, self.n_compared))

    @property
    def first_difference(self) -> int | None:
        """The first step at which A and B write different tokens; None where one text begins the other."""
        if self.b is None:
            return None
        n = self.n_compared
        unequal = (self.a.tokens[:n] != self.b.tokens[:n]).nonzero().flatten().tolist()
        return unequal[0] if unequal else None


def generate_steps(comparison: Comparison, how: Writing, b_writes: BWrites = "same") -> Continuations:
    """Generate after each prompt, with the same settings, seed and prefix.

    Beside A stands what B writes of its own, or B made to write the tokens that A wrote (`"same"`).

    Raises:
        HeadlightError: a token of the prefix that a model does not have, or no room for the prefix.
    """
    a = continue_run(comparison.a, how)
    if comparison.b is None:
        return Continuations(a)
    own = continue_run(comparison.b, how)
    b = own if b_writes == "own" else forced(comparison.b, tuple(a.tokens.tolist()), how.sampling)
    return Continuations(a, own, b, comparison.align)


def likeliest(
    probabilities: Float[Tensor, "step d_vocab"], *written: Int[Tensor, " step"]
) -> Int[Tensor, "step candidate"]:
    """At each step the likeliest tokens from the top down, the last of which give way to written ones that are not."""
    wanted = probabilities.clone()
    for each in written:
        wanted.scatter_(1, each[:, None], torch.inf)
    tokens = best(wanted, MAX_CANDIDATES).indices
    order = probabilities.gather(1, tokens).argsort(dim=1, descending=True, stable=True)
    return tokens.gather(1, order)


def candidates(written: Written, tokens: Int[Tensor, "step candidate"], steps: slice) -> Candidates:
    """Probabilities of these tokens at each of these steps."""
    n_ids = max(written.run.cfg.d_vocab, int(tokens.max()) + 1 if tokens.numel() else 0)
    chances, logits = written.chances(steps), widened(written.logits(steps), n_ids, -torch.inf)
    own = logits.gather(1, tokens)
    ranks = torch.stack([(logits > each[:, None]).sum(-1) + 1 for each in own.unbind(1)], 1)
    before, after = (widened(each, n_ids).gather(1, tokens) for each in (chances.before, chances.after))
    return Candidates(tokens, ranks, before, after)


def joined(blocks: Sequence[Candidates]) -> Candidates:
    """The candidates of consecutive steps as one."""
    parts = zip(*((each.tokens, each.ranks, each.before, each.after) for each in blocks), strict=True)
    return Candidates(*(torch.cat(part) for part in parts))


def blocks_of(start: int, stop: int) -> list[slice]:
    """Steps in blocks of as many as are looked at together; one empty block where there are none."""
    begins = range(start, max(stop, start + 1), STEPS_AT_ONCE)
    return [slice(begin, min(begin + STEPS_AT_ONCE, stop)) for begin in begins]


def divergence(a: Written, b: Written, n_steps: int) -> Float[Tensor, "two step"]:
    """The Jensen-Shannon divergence (nats) of the distributions of the first steps, before the cuts and after."""
    return torch.cat([_divergence(a, b, steps) for steps in blocks_of(0, n_steps)], 1)


def _divergence(a: Written, b: Written, steps: slice) -> Float[Tensor, "two step"]:
    one, other = (each.chances(steps) for each in (a, b))
    n_ids = max(a.run.cfg.d_vocab, b.run.cfg.d_vocab)
    pairs = (one.before, other.before), (one.after, other.after)
    return torch.stack([js_divergence(widened(p, n_ids), widened(q, n_ids)).values for p, q in pairs])


def widened(values: Float[Tensor, "step d_vocab"], n_ids: int, absent: float = 0.0) -> Float[Tensor, "step n_ids"]:
    """Values over a vocabulary that may lack some of the other model's ids, such as a fine-tuning's padding."""
    return torch.nn.functional.pad(values, (0, n_ids - values.shape[1]), value=absent)


def _alignment(a: Written, b: Written, align: Align) -> Alignment:
    """The prompts side by side, and from their last tokens on, which the first ones are written at, step by step."""
    n_a, n_b = a.n_prompt - 1, b.n_prompt - 1
    tail = align_positions(len(a.run.tokens) - n_a, len(b.run.tokens) - n_b)
    head = aligned(a.run.tokens[:n_a].tolist(), b.run.tokens[:n_b].tolist(), align)
    return Alignment((*head.a, *_behind(n_a, tail.a)), (*head.b, *_behind(n_b, tail.b)))


def _behind(start: int, positions: tuple[int | None, ...]) -> tuple[int | None, ...]:
    return tuple(None if position is None else start + position for position in positions)
