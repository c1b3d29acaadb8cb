"""Choices of the page *Head internals*: the head, query, key and component of A and B that it follows."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from headlight.app.parts.first_heads import head_of
from headlight.app.selection.choices import PageChoices
from headlight.app.selection.chosen import Selection
from headlight.model.attention.inside_tables import HeadAt, head_at
from headlight.model.measure.head_steps import HeadSteps, terms
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.head import HeadWeights, head_weights
from headlight.model.runs.linear import BiasName, has_bias

MAX_KEYS = 12  # rows of a matrix of keys; in a longer prompt those that matter to the query
MASKED_KEYS = 2  # of them, where there are that many, after the query, so that the mask is to be seen

Convention = Literal["row", "column"]


@dataclass(frozen=True)
class Choices(PageChoices):
    """The index of q and k that is followed through the steps, and whether a token is a row or a column in them."""

    forgets: ClassVar = {"model": ("component",)}

    component: int | None = None
    convention: Convention = "row"


@dataclass(frozen=True, eq=False)
class Inside(HeadAt):
    """One head at one query of one run, and the drawn part of it.

    `component` is an index of q, k, v and z, `window` the keys that there is room for, and `places` those of all
    positions, by which tokens are numbered.
    """

    component: int
    window: tuple[int, ...]
    weights: HeadWeights
    places: tuple[int, ...]

    @property
    def query_place(self) -> int:
        """The query's place."""
        return self.places[self.query]

    @property
    def key_place(self) -> int:
        """The followed key's place."""
        return self.places[self.key]

    def has_bias(self, name: BiasName) -> bool:
        """Whether the layer's attention has such a bias."""
        return has_bias(self.run.model, self.head[0], name)

    @cached_property
    def value_component(self) -> int:
        """The followed component of v and z, which may be narrower than q and k."""
        return min(self.component, self.steps.z.values.shape[0] - 1)

    @cached_property
    def entry(self) -> int:
        """The entry of the normalised stream that adds most to the followed component of q."""
        return terms(self.steps.read.values[self.query], self.weights.W_Q[:, self.component], 1).largest[0][0]


def query_of(comparison: Comparison, chosen: Selection) -> int:
    """The place of the query: the first that is pinned, or the last that all runs have."""
    return chosen.queries[0] if chosen.queries else comparison.default_place


def key_of(chosen: Selection) -> int | None:
    """The place of the key that is followed, where one is pinned."""
    return chosen.keys[0] if chosen.keys else None


def inside_of(comparison: Comparison, chosen: Selection, side: str) -> Inside | None:
    """The choice in A or in B; None where that run has no token at the query's place.

    Where nothing is chosen, or the run lacks it, the key is the query's strongest, and the component that of the
    largest q[i] k[i].
    """
    at = head_at(comparison, side, head_of(comparison, chosen), query_of(comparison, chosen), key_of(chosen))
    if at is None:
        return None
    steps = at.steps
    component = chosen.choices_of(Choices).component
    if component is None or component >= len(steps.q.values):
        component = terms(steps.q.values, steps.k.values[at.key], 1).largest[0][0]
    window = window_of(steps, at.query, at.key)
    weights = head_weights(at.run, *at.head)
    return Inside(at.run, at.head, at.query, at.key, steps, component, window, weights, comparison.places(at.run))


def window_of(steps: HeadSteps, query: int, key: int) -> tuple[int, ...]:
    """The rows: all keys, or the tracked one, the query's own, the first masked ones, and the strongest."""
    weights, masked = steps.weights.values.numpy(), np.isneginf(steps.masked.values.numpy())
    if len(weights) <= MAX_KEYS:
        return tuple(range(len(weights)))
    strongest = np.argsort(-weights, kind="stable").tolist()
    wanted = dict.fromkeys([key, query, *np.flatnonzero(masked)[:MASKED_KEYS].tolist(), *strongest])
    return tuple(sorted(list(wanted)[:MAX_KEYS]))


def sides_of(comparison: Comparison, chosen: Selection) -> dict[str, Inside]:
    """The choice in every run that has the query."""
    insides = {side: inside_of(comparison, chosen, side) for side in comparison.sides}
    return {side: each for side, each in insides.items() if each is not None}


def on_common_keys(comparison: Comparison, a: Inside, b: Inside) -> tuple[Inside, Inside]:
    """Both with the same places in their windows: those of A's that B has too."""
    in_a, in_b = (comparison.positions(run) for run in comparison.runs)
    common = [(i, j) for i, j in zip(in_a, in_b, strict=True) if i in a.window and i is not None and j is not None]
    return replace(a, window=tuple(i for i, _ in common)), replace(b, window=tuple(j for _, j in common))
