"""Batches of pairs of about the same length, so that little of them is padding.

`python -m headlight.model.training.buckets` prints the padding with and without, on drawn lengths.
"""

import hashlib
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache

import numpy as np

from headlight.model.training.pairs import Data, Pair, PairBatch, in_parts, pad_pairs

Lengths = tuple[int, int]  # of source and target
Indices = Sequence[int]

# A pool is sorted, then cut into batches. Pools are drawn anew each epoch, so that batches differ from epoch to epoch.
BATCHES_PER_POOL = 100


def random_batches(n_pairs: int, batch_size: int, rng: np.random.Generator) -> list[Indices]:
    """Every pair once, in random order."""
    return in_parts(rng.permutation(n_pairs).tolist(), batch_size)


def bucketed_batches(lengths: Sequence[Lengths], batch_size: int, rng: np.random.Generator) -> list[Indices]:
    """Every pair once: random pools, each sorted by source length, then target length, and cut; the batches shuffled.

    Within every other source length the targets run from long to short, so that neighbours are alike across its end.
    """

    def key(index: int) -> Lengths:
        source, target = lengths[index]
        return source, target if source % 2 else -target

    pools = random_batches(len(lengths), BATCHES_PER_POOL * batch_size, rng)
    batches = [batch for pool in pools for batch in in_parts(sorted(pool, key=key), batch_size)]
    return [batches[index] for index in rng.permutation(len(batches))]


def padding(lengths: Sequence[Lengths], batches: Iterable[Indices]) -> float:
    """Mean padded positions a sentence, where a pair is two sentences: each side is as long as its longest."""
    padded = n_sentences = 0
    for batch in batches:
        for side in zip(*(lengths[index] for index in batch), strict=True):
            padded += max(side) * len(side) - sum(side)
            n_sentences += len(side)
    return padded / n_sentences


class Bucketed(Data):
    """Pairs to train on, epoch after epoch in bucketed batches, and pairs held out."""

    def __init__(self, pairs: Sequence[Pair], held_out: Sequence[Pair], batch_size: int, seed: int) -> None:
        self._pairs, self._held_out, self._batch_size, self._seed = pairs, held_out, batch_size, seed
        self._lengths = [(len(source), len(target)) for source, target in pairs]
        self.n_batches = -(-len(pairs) // batch_size)  # an epoch's; pools are whole batches, so it is always the same
        self._epoch = lru_cache(maxsize=1)(self._draw_epoch)

    @cached_property
    def identity(self) -> str:
        """A hash of all pairs and how they are drawn."""
        drawn = (self._pairs, self._held_out, self._batch_size, self._seed)
        return hashlib.sha256(repr(drawn).encode()).hexdigest()

    @cached_property
    def held_out(self) -> list[PairBatch]:
        """In the order of their lengths."""
        pairs = sorted(self._held_out, key=lambda pair: len(pair[0]))
        return [pad_pairs(part) for part in in_parts(pairs, self._batch_size)]

    def indices(self, step: int) -> Indices:
        """Pairs of a step."""
        epoch, nth = divmod(step, self.n_batches)
        return self._epoch(epoch)[nth]

    def batch(self, step: int) -> PairBatch:
        """The pairs of a step."""
        return pad_pairs([self._pairs[index] for index in self.indices(step)])

    def _draw_epoch(self, epoch: int) -> list[Indices]:
        return bucketed_batches(self._lengths, self._batch_size, np.random.default_rng((self._seed, epoch)))


def drawn_lengths(n_pairs: int, rng: np.random.Generator) -> list[Lengths]:
    """Lengths like those of Multi30k's captions, in words: an assumption, as its text is not at hand.

    Log-normal with mean 13 and standard deviation 4.1 on both sides, their logarithms correlated by 0.75.
    """
    spread = np.sqrt(np.log1p((4.1 / 13) ** 2))
    covariance = spread**2 * np.array([[1, 0.75], [0.75, 1]])
    logs = rng.multivariate_normal(np.full(2, np.log(13) - spread**2 / 2), covariance, size=n_pairs)
    return [(int(source), int(target)) for source, target in np.exp(logs).round().clip(min=1)]


def main() -> None:
    """Print both paddings for as many pairs as Multi30k has to train on."""
    rng = np.random.default_rng(0)
    lengths = drawn_lengths(29_000, rng)
    print("padded positions a sentence, on 29,000 drawn pairs:")
    for batch_size in (32, 64, 128):
        random = padding(lengths, random_batches(len(lengths), batch_size, rng))
        bucketed = padding(lengths, bucketed_batches(lengths, batch_size, rng))
        print(f"batches of {batch_size}: random {random:.1f}, bucketed {bucketed:.2f}")


if __name__ == "__main__":
    main()
