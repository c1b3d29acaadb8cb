"""Choose the sequences of a corpus that are kept for each head: the strongest, and a sample over all strengths.

A sequence's strength for a head is its largest weight without the first row and column. Its bucket is its quantile in
the calibration. Of the last bucket the strongest sequences are kept, of every other those with the smallest sampling
keys, which depend on the seed and the sequence alone: a uniform sample, independent of workers and order.

Source: the sampling of Neuronpedia's `headvis/compute-head-metrics.py`, whose reservoirs draw as they go.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int, Integer

from headlight.model.corpus.packing import Arrays, apart, end_to_end, of_texts, to_texts
from headlight.model.corpus.sequences import CutSequence

DIGITS = 10_000  # weights are kept in steps of 1 / DIGITS
NO_BAR = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Sample:
    """A sequence as one head sees it: its bucket from 1, and its largest weights, query * n_tokens + key."""

    interval: int
    strength: float
    sampling_key: int
    sequence: int
    indices: Int[np.ndarray, " weight"]
    values: Integer[np.ndarray, " weight"]


@dataclass(frozen=True, eq=False)
class Bars:
    """Thresholds for keeping a sequence for a head: at least this strength, or at most this sampling key."""

    strengths: Float[np.ndarray, "layer head"]
    sampling_keys: Int[np.ndarray, "layer head bucket"]


@dataclass(eq=False)
class Samples:
    """The sampled sequences of every head and bucket, the best first, and the tokens of all of them."""

    n_layers: int
    n_heads: int
    n_intervals: int
    top: int
    others: int
    kept: dict[tuple[int, int, int], list[Sample]] = field(default_factory=dict)
    sequences: dict[int, CutSequence] = field(default_factory=dict)

    def add(self, layer: int, head: int, sample: Sample, sequence: CutSequence) -> None:
        """Keep a sequence, if it is among the first of its bucket."""
        bucket = self.kept.setdefault((layer, head, sample.interval), [])
        bucket.append(sample)
        bucket.sort(key=self._place)
        del bucket[self._room(sample.interval) :]
        self.sequences[sequence.identity] = sequence

    def merge(self, other: "Samples") -> None:
        """Keep the first of both."""
        for key, samples in other.kept.items():
            both = sorted(self.kept.get(key, []) + samples, key=self._place)
            self.kept[key] = both[: self._room(key[2])]
        self.sequences |= other.sequences
        self.forget()

    def forget(self) -> None:
        """Drop the tokens of sequences that no head keeps any more."""
        used = {sample.sequence for samples in self.kept.values() for sample in samples}
        self.sequences = {identity: self.sequences[identity] for identity in sorted(used)}

    def bars(self) -> Bars:
        """Return the thresholds for a further sequence where a bucket is full."""
        strengths = np.full((self.n_layers, self.n_heads), -np.inf)
        sampling_keys = np.full((self.n_layers, self.n_heads, self.n_intervals), NO_BAR)
        for (layer, head, interval), samples in self.kept.items():
            if len(samples) < self._room(interval):
                continue
            if interval == self.n_intervals:
                strengths[layer, head] = samples[-1].strength
            else:
                sampling_keys[layer, head, interval - 1] = samples[-1].sampling_key
        return Bars(strengths, sampling_keys)

    def of_head(self, layer: int, head: int) -> Iterator[Sample]:
        """A head's samples, bucket by bucket."""
        for interval in range(1, self.n_intervals + 1):
            yield from self.kept.get((layer, head, interval), [])

    def arrays(self) -> Arrays:
        """All arrays to be packed."""
        rows = [(key, sample) for key, samples in sorted(self.kept.items()) for sample in samples]
        known = [self.sequences[identity] for identity in sorted(self.sequences)]
        return {
            "sample_places": np.array([(*key, s.sampling_key, s.sequence) for key, s in rows], np.int64).reshape(-1, 5),
            "sample_strengths": np.array([sample.strength for _, sample in rows], np.float64),
            **end_to_end("sample_indices", [sample.indices for _, sample in rows], np.int64),
            **end_to_end("sample_values", [sample.values for _, sample in rows], np.uint16),
            "sequence_places": np.array([(s.document, s.number, s.start) for s in known], np.int64).reshape(-1, 3),
            "sequence_names": of_texts([sequence.name for sequence in known]),
            **end_to_end("sequence_tokens", [np.array(sequence.tokens) for sequence in known], np.int64),
        }

    def fill(self, arrays: Arrays) -> "Samples":
        """Fill these samples from `arrays`'s output."""
        names, tokens = to_texts(arrays["sequence_names"]), apart(arrays, "sequence_tokens")
        for place, name, row in zip(arrays["sequence_places"].tolist(), names, tokens, strict=True):
            document, number, start = place
            sequence = CutSequence(document, name, number, start, tuple(row.tolist()))
            self.sequences[sequence.identity] = sequence
        places, strengths = arrays["sample_places"].tolist(), arrays["sample_strengths"].tolist()
        weights = (apart(arrays, f"sample_{name}") for name in ("indices", "values"))
        for place, strength, indices, values in zip(places, strengths, *weights, strict=True):
            layer, head, interval, sampling_key, sequence = place
            sample = Sample(interval, strength, sampling_key, sequence, indices, values)
            self.kept.setdefault((layer, head, interval), []).append(sample)
        return self

    def _room(self, interval: int) -> int:
        return self.top if interval == self.n_intervals else self.others

    def _place(self, sample: Sample) -> tuple[float, int]:
        """The order in which a bucket's sequences are kept."""
        return (-sample.strength if sample.interval == self.n_intervals else sample.sampling_key), sample.sequence


def boundaries(strengths: Float[np.ndarray, "sequence ..."], n_intervals: int) -> Float[np.ndarray, "..."]:
    """From where on each of the later buckets begins, behind all other axes: quantiles of some sequences."""
    in_order = np.sort(strengths, axis=0)
    places = [min(round(each * len(in_order) / n_intervals), len(in_order) - 1) for each in range(1, n_intervals)]
    return np.moveaxis(in_order[places], 0, -1)
