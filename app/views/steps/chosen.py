"""Which head, query, key and component are followed, in A or in B, and the keys that there is room for."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from app import runs
from app.run import HeadWeights, Run, head_weights, inside
from app.selection.chosen import Head, Selection
from app.shown import Shown
from app.views.attention import clearest
from model.analysis.head_steps import HeadSteps, terms

MOST_KEYS = 12  # rows of a matrix of keys; in a longer prompt those that matter to the query are shown
MASKED_KEYS = 2  # of them, where there are that many, after the query, so that the mask is to be seen


@dataclass(frozen=True, eq=False)
class Inside:
    """One head at one query of one run: all positions are the run's own.

    `component` is an index of q, k, v and z, `window` the keys that there is room for.
    """

    run: Run
    head: Head
    query: int
    key: int
    component: int
    window: tuple[int, ...]
    steps: HeadSteps
    weights: HeadWeights

    @cached_property
    def value_component(self) -> int:
        """The followed component of v and z, which may be narrower than q and k."""
        return min(self.component, self.steps.z.values.shape[0] - 1)

    @cached_property
    def entry(self) -> int:
        """The entry of the normalised stream that adds most to the followed component of q."""
        return terms(self.steps.read.values[self.query], self.weights.W_Q[:, self.component], 1).largest[0][0]


def head_of(shown: Shown, chosen: Selection) -> Head:
    """The first of the chosen heads, or the one with the clearest pattern."""
    return chosen.heads[0] if chosen.heads else clearest(shown.a)[0]


def query_of(shown: Shown, chosen: Selection) -> int:
    """The place of the query: the first that is pinned, or the last that all runs have."""
    return chosen.queries[0] if chosen.queries else shown.default_place


def inside_of(shown: Shown, chosen: Selection, side: str) -> Inside | None:
    """What is chosen, in A or in B; None where that run has no token at the query's place.

    Where nothing is chosen, or the run lacks it, the key is the query's strongest, and the component that of the
    largest q[i] k[i].
    """
    run, head = shown.sides[side], head_of(shown, chosen)
    positions = shown.positions(run)
    query = positions[query_of(shown, chosen)]
    if query is None:
        return None
    steps = runs.kept(run, ("inside", head, query), lambda: inside(run, *head, query))
    key = positions[chosen.keys[0]] if chosen.keys else None
    if key is None:
        key = int(steps.weights.values.argmax())
    component = chosen.component
    if component is None or component >= len(steps.q.values):
        component = terms(steps.q.values, steps.k.values[key], 1).largest[0][0]
    window = window_of(steps, query, key)
    return Inside(run, head, query, key, component, window, steps, head_weights(run, *head))


def window_of(steps: HeadSteps, query: int, key: int) -> tuple[int, ...]:
    """The keys shown: all, or the one followed, the query's own, the first that are masked, and the strongest."""
    weights, masked = steps.weights.values.numpy(), np.isneginf(steps.masked.values.numpy())
    if len(weights) <= MOST_KEYS:
        return tuple(range(len(weights)))
    strongest = np.argsort(-weights, kind="stable").tolist()
    wanted = dict.fromkeys([key, query, *np.flatnonzero(masked)[:MASKED_KEYS].tolist(), *strongest])
    return tuple(sorted(list(wanted)[:MOST_KEYS]))


def sides_of(shown: Shown, chosen: Selection) -> dict[str, Inside]:
    """The same for every run that has the query."""
    found = {side: inside_of(shown, chosen, side) for side in shown.sides}
    return {side: each for side, each in found.items() if each is not None}


def on_common_keys(shown: Shown, a: Inside, b: Inside) -> tuple[Inside, Inside]:
    """Both with the same places in their windows: those of A's that B has too."""
    in_a, in_b = (shown.positions(run) for run in shown.runs)
    common = [(i, j) for i, j in zip(in_a, in_b, strict=True) if i in a.window and i is not None and j is not None]
    return replace(a, window=tuple(i for i, _ in common)), replace(b, window=tuple(j for _, j in common))
