"""Distribution of each head's weight over tokens and (query, key) token pairs of a corpus."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

MIN_PAIR_WEIGHT = 0.1  # of a query's largest weight, for it to count as a pair
MAX_TOKENS, MAX_PAIRS = 4_096, 2_000  # of a head; the lightest of many more are forgotten: memory does not grow
ROOM = 2  # times as many as are kept, from which on the lightest are looked for


@dataclass(eq=False)
class Heaviest:
    """Weights of things by number from 0 to `size`, for each of several rows; of many, each row's heaviest alone.

    A `key` is row * size + thing; keys are in order. What was forgotten and comes again counts from then on.
    """

    size: int
    most: int
    keys: Int[np.ndarray, " known"] = field(default_factory=lambda: np.empty(0, np.int64))
    weights: Float[np.ndarray, " known"] = field(default_factory=lambda: np.empty(0))

    def add(self, keys: Int[np.ndarray, " more"], weights: Float[np.ndarray, " more"]) -> None:
        """Add weights of things, which may be there already, and forget the lightest of too many."""
        keys, place = np.unique(keys, return_inverse=True)
        sums, at = np.bincount(place, weights, len(keys)), np.searchsorted(self.keys, keys)
        known = at < len(self.keys)
        known[known] = self.keys[at[known]] == keys[known]
        self.weights[at[known]] += sums[known]
        self.keys = np.insert(self.keys, at[~known], keys[~known])
        self.weights = np.insert(self.weights, at[~known], sums[~known])
        self._forget()

    def key(self, row: Int[np.ndarray, "..."] | int, thing: Int[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:
        """The keys of things."""
        return row * self.size + thing

    def top(self, row: int, count: int) -> list[tuple[int, float]]:
        """A row's heaviest things, and their weights; of equal ones the smaller first."""
        first, last = np.searchsorted(self.keys, [row * self.size, (row + 1) * self.size])
        keys, weights = self.keys[first:last], self.weights[first:last]
        order = np.lexsort((keys, -weights))[:count]
        return [(int(keys[each]) % self.size, float(weights[each])) for each in order if weights[each] > 0]

    def _forget(self) -> None:
        if not len(self.keys) or len(self.keys) <= ROOM * self.most * (int(self.keys[-1]) // self.size + 1):
            return
        rows = self.keys // self.size
        order = np.lexsort((self.keys, -self.weights, rows))
        first = np.searchsorted(rows[order], rows[order])
        kept = np.sort(order[np.arange(len(order)) - first < self.most])
        self.keys, self.weights = self.keys[kept], self.weights[kept]
