"""Which tokens, and which pairs of a query's and a key's, a head's weight lies on over a corpus."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from headlight.model.corpus.packing import Arrays

LEAST_IN_PAIR = 0.1  # of a query's largest weight, for it to count as a pair
MOST_PAIRS = 2_000  # of a head; the lightest of more are forgotten, so that memory does not grow


@dataclass(eq=False)
class TokenSums:
    """The weight of every token as a query and as a key: `ids` are those that have occurred, in order."""

    ids: Int[np.ndarray, " token"]
    weights: Float[np.ndarray, "side layer head token"]

    @classmethod
    def none(cls, n_layers: int, n_heads: int, ids: Sequence[int] = ()) -> "TokenSums":
        """No weight on some tokens."""
        return cls(np.array(ids, np.int64), np.zeros((2, n_layers, n_heads, len(ids))))

    def add(self, other: "TokenSums") -> None:
        """Add the weights of both."""
        ids = np.union1d(self.ids, other.ids)
        if len(ids) > len(self.ids):
            weights = np.zeros((*self.weights.shape[:3], len(ids)))
            weights[..., np.searchsorted(ids, self.ids)] = self.weights
            self.ids, self.weights = ids, weights
        self.weights[..., np.searchsorted(ids, other.ids)] += other.weights

    def top(self, side: int, layer: int, head: int, count: int) -> list[tuple[int, float]]:
        """The tokens with the most weight, and that; of equal ones the smaller id first."""
        weights = self.weights[side, layer, head]
        order = np.lexsort((self.ids, -weights))[:count]
        return [(int(self.ids[each]), float(weights[each])) for each in order if weights[each] > 0]


@dataclass(eq=False)
class PairSums:
    """The weight of every pair of tokens, one number a head and pair; of each head only the heaviest."""

    d_vocab: int
    keys: Int[np.ndarray, " pair"]
    weights: Float[np.ndarray, " pair"]

    @classmethod
    def none(cls, d_vocab: int) -> "PairSums":
        """No pairs."""
        return cls(d_vocab, np.empty(0, np.int64), np.empty(0))

    def add(self, keys: Int[np.ndarray, " more"], weights: Float[np.ndarray, " more"]) -> None:
        """Add weights of pairs, which may be there already, and forget the lightest of too many."""
        both, place = np.unique(np.concatenate([self.keys, keys]), return_inverse=True)
        sums = np.bincount(place, np.concatenate([self.weights, weights]), len(both))
        kept = self._heaviest(both, sums)
        self.keys, self.weights = both[kept], sums[kept]

    def key(
        self, head: Int[np.ndarray, "..."], query: Int[np.ndarray, "..."], key: Int[np.ndarray, "..."]
    ) -> Int[np.ndarray, "..."]:
        """A pair's number: of a head, counted through all layers, and of two tokens."""
        return (head * self.d_vocab + query) * self.d_vocab + key

    def top(self, head: int, count: int) -> list[tuple[int, int, float]]:
        """A head's heaviest pairs: query, key and weight."""
        first, last = np.searchsorted(self.keys, [head * self.d_vocab**2, (head + 1) * self.d_vocab**2])
        keys, weights = self.keys[first:last], self.weights[first:last]
        order = np.lexsort((keys, -weights))[:count]
        pairs = ((int(keys[each]) % self.d_vocab**2, float(weights[each])) for each in order)
        return [(*divmod(pair, self.d_vocab), weight) for pair, weight in pairs]

    def arrays(self) -> Arrays:
        """All that is kept, to be packed."""
        return {"pair_keys": self.keys, "pair_weights": self.weights}

    def _heaviest(self, keys: Int[np.ndarray, " pair"], weights: Float[np.ndarray, " pair"]) -> Int[np.ndarray, " _"]:
        """Where each head's heaviest pairs stand, in order."""
        heads = keys // self.d_vocab**2
        order = np.lexsort((keys, -weights, heads))
        first = np.searchsorted(heads[order], heads[order])
        return np.sort(order[np.arange(len(order)) - first < MOST_PAIRS])
