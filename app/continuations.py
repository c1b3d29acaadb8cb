"""What follows prompt A, and with a run B what follows B, step beside step."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from app import generation, runs
from app.generation import Candidates, Written, candidates, likeliest
from app.selection import Selection
from app.selection.chosen import Align
from app.shown import Shown
from model.analysis.alignment import Alignment, align_positions, align_tokens
from model.analysis.attention import js_divergence


@dataclass(frozen=True, eq=False)
class Continuations:
    """What A wrote, and with a run B what B wrote of its `own`, and `b`: what of B is laid beside A, step by step.

    That is B's own text, or B made to write the tokens that A wrote.
    """

    a: Written
    own: Written | None = None
    b: Written | None = None
    align: Align = "tokens"

    @property
    def sides(self) -> dict[str, Written]:
        """What is laid side by side, by the runs' names."""
        return {"A": self.a} if self.b is None else {"A": self.a, "B": self.b}

    @property
    def n_compared(self) -> int:
        """How many steps both have."""
        return min(len(each.labels) for each in self.sides.values())

    @cached_property
    def shown(self) -> Shown:
        """The runs over prompts and written tokens, on the axis that they have in common."""
        if self.b is None:
            return Shown(self.a.run)
        return Shown(self.a.run, self.b.run, _alignment(self.a, self.b, self.align))

    def place(self, step: int) -> int:
        """Where on the axis a step's token was written."""
        return self.shown.positions(self.a.run).index(self.a.query(step))

    def candidates(self) -> dict[str, Candidates]:
        """For each step the tokens that are the likeliest in A or in B, those that were written among them."""
        key = tuple(each.key for each in self.sides.values())
        return runs.remembered(("candidates", *key), self._candidates)

    def _candidates(self) -> dict[str, Candidates]:
        steps = slice(self.n_compared)
        probabilities = torch.stack([each.chances(steps).before for each in self.sides.values()]).amax(0)
        tokens = likeliest(probabilities, *(each.tokens[steps] for each in self.sides.values()))
        if self.b is None or self.n_compared == len(self.a.labels):
            return {side: candidates(each, tokens) for side, each in self.sides.items()}
        left = likeliest(self.a.chances(slice(self.n_compared, None)).before, self.a.tokens[self.n_compared :])
        return {"A": candidates(self.a, torch.cat([tokens, left])), "B": candidates(self.b, tokens)}

    def divergence(self) -> Float[Tensor, "two step"]:
        """How far A's and B's distributions are apart at each step that both have, before the cuts and after (nats)."""
        a, b = self.sides.values()  # asked where there are two
        return runs.remembered(("apart", a.key, b.key), lambda: divergence(a, b, self.n_compared))

    @property
    def first_difference(self) -> int | None:
        """The first step at which A and B write different tokens; None where one text begins the other."""
        if self.b is None:
            return None
        n = self.n_compared
        unequal = (self.a.tokens[:n] != self.b.tokens[:n]).nonzero().flatten().tolist()
        return unequal[0] if unequal else None


def divergence(a: Written, b: Written, n_steps: int) -> Float[Tensor, "two step"]:
    """The Jensen-Shannon divergence (nats) of the distributions of the first steps, before the cuts and after."""
    one, other = (each.chances(slice(n_steps)) for each in (a, b))
    return torch.stack([js_divergence(one.before, other.before).values, js_divergence(one.after, other.after).values])


def of(shown: Shown, chosen: Selection) -> Continuations:
    """What a selection asks the runs to write: with the same settings and seed, behind the same tokens of the user's.

    Raises:
        HeadlightError: the selection, a model or the machine does not allow it; the message says what would.
    """
    a = generation.of(shown.a, chosen)
    if shown.b is None:
        return Continuations(a)
    own = generation.of(shown.b, chosen)
    b = own if chosen.b_writes == "own" else generation.forced(shown.b, tuple(a.tokens.tolist()), a.sampling)
    return Continuations(a, own, b, chosen.align)


def _alignment(a: Written, b: Written, align: Align) -> Alignment:
    """The prompts side by side, and from their last tokens on, which the first ones are written at, step by step."""
    n_a, n_b = a.n_prompt - 1, b.n_prompt - 1
    tail = align_positions(len(a.run.tokens) - n_a, len(b.run.tokens) - n_b)
    if align == "position":
        head = align_positions(n_a, n_b)
    else:
        head = align_tokens(_ids(a.run.tokens[:n_a]), _ids(b.run.tokens[:n_b]))
    return Alignment((*head.a, *_behind(n_a, tail.a)), (*head.b, *_behind(n_b, tail.b)))


def _ids(tokens: Int[Tensor, " pos"]) -> list[int]:
    return [int(token) for token in tokens]


def _behind(start: int, positions: tuple[int | None, ...]) -> tuple[int | None, ...]:
    return tuple(None if position is None else start + position for position in positions)
