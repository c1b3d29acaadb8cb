"""Collect a shard's histograms, tokens, pairs and sampled sequences from its attention patterns."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor

from headlight.model.corpus.calibration import Calibration
from headlight.model.corpus.counts import MIN_PAIR_WEIGHT
from headlight.model.corpus.measures import Attended
from headlight.model.corpus.results import BINS, DISTANCES, ScanResults
from headlight.model.corpus.samples import DIGITS, Bars, Sample
from headlight.model.corpus.sequences import Batch, CutSequence
from headlight.model.corpus.settings import ScanSettings


class Gatherer:
    """Add batches of patterns to the results of a shard; call `finish` after the last one."""

    def __init__(
        self,
        results: ScanResults,
        settings: ScanSettings,
        calibration: Calibration,
        bars: Bars,
        sequences: Sequence[CutSequence],
    ) -> None:
        self._results, self._settings, self._calibration, self._bars = results, settings, calibration, bars
        n_layers, self._n_heads = results.strength_sums.shape
        self._ids = np.array(sorted({token for sequence in sequences for token in sequence.tokens}), np.int64)
        self._tokens = np.zeros((2, n_layers, self._n_heads, len(self._ids)))
        self._pairs: list[tuple[Int[np.ndarray, " _"], Float[np.ndarray, " _"]]] = []

    def take(self, batch: Batch, seen: Attended) -> None:
        """Take a layer's patterns on a batch."""
        strengths = seen.strongest.amax(-1).cpu().numpy()
        self._add_distances(seen)
        self._add_strengths(seen.layer, strengths)
        self._add_tokens(seen, batch)
        self._add_pairs(seen, batch)
        self._add_samples(seen, batch, strengths)

    def finish(self) -> None:
        """Merge what was collected per batch."""
        rows = np.arange(math.prod(self._tokens.shape[:-1])).reshape(-1, 1)
        keys, sums = self._results.tokens.key(rows, self._ids).ravel(), self._tokens.ravel()
        self._results.tokens.add(keys[sums > 0], sums[sums > 0])
        if self._pairs:
            keys, weights = (np.concatenate(each) for each in zip(*self._pairs, strict=True))
            self._results.pairs.add(keys, weights)
        self._results.samples.forget()

    def _add_distances(self, seen: Attended) -> None:
        """Weight by distance."""
        sums = seen.by_distance.double().sum(0).cpu().numpy()
        begins = [place for place in DISTANCES[:-1] if place < sums.shape[-1]]
        self._results.distances[seen.layer, :, : len(begins)] += np.add.reduceat(sums, begins, axis=-1)

    def _add_strengths(self, layer: int, strengths: Float[np.ndarray, "batch head"]) -> None:
        """Add the strengths of the batch's sequences."""
        bins = (strengths * BINS).astype(np.int64).clip(0, BINS - 1)
        for head in range(self._n_heads):
            self._results.strengths[layer, head] += np.bincount(bins[:, head], minlength=BINS)
        self._results.strength_sums[layer] += strengths.astype(np.float64).sum(0)

    def _add_tokens(self, seen: Attended, batch: Batch) -> None:
        """Weight by the query's and by the key's token, the first row and column left out."""
        place = np.searchsorted(self._ids, batch.tokens.numpy()[:, 1:]).clip(max=len(self._ids) - 1)
        from_query = seen.pattern[:, :, 1:, 1:].sum(-1)
        for side, weights in enumerate((from_query, seen.to_key[..., 1:] - seen.pattern[:, :, 0, 1:])):
            of_heads = weights.double().cpu().numpy()
            for head in range(self._n_heads):
                sums = np.bincount(place.ravel(), of_heads[:, head].ravel(), len(self._ids))
                self._tokens[side, seen.layer, head] += sums

    def _add_pairs(self, seen: Attended, batch: Batch) -> None:
        """The pair of each query and the key with its largest weight."""
        row, head, query = (seen.strongest >= MIN_PAIR_WEIGHT).nonzero(as_tuple=True)
        weights, keys = seen.strongest[row, head, query], seen.strongest_key[row, head, query]
        row, head, query, keys, weights = (each.cpu() for each in (row, head, query, keys, weights))
        of_query, of_key = batch.tokens[row, query + 1].numpy(), batch.tokens[row, keys].numpy()
        pair = of_query * self._results.tokens.size + of_key
        numbers = self._results.pairs.key(seen.layer * self._n_heads + head.numpy(), pair)
        self._pairs.append((numbers, weights.double().numpy()))

    def _add_samples(self, seen: Attended, batch: Batch, strengths: Float[np.ndarray, "batch head"]) -> None:
        """Sequences that the head's bucket has room for, as far as is known."""
        layer, bars = seen.layer, self._bars
        sampling_keys = np.array([sequence.sampling_key(self._settings.seed) for sequence in batch.sequences])
        buckets = (self._calibration.boundaries[layer] <= strengths[..., None]).sum(-1)
        most = np.take_along_axis(bars.sampling_keys[layer][None], buckets[..., None], -1)[..., 0]
        is_last = buckets == self._settings.intervals - 1
        is_kept = np.where(is_last, strengths >= bars.strengths[layer], sampling_keys[:, None] <= most)
        for row, head in np.argwhere(is_kept).tolist():
            sequence, strength, sampling_key = (
                batch.sequences[row],
                float(strengths[row, head]),
                int(sampling_keys[row]),
            )
            indices, values = self._largest(seen.pattern[row, head], len(sequence.tokens))
            sample = Sample(int(buckets[row, head]) + 1, strength, sampling_key, sequence.identity, indices, values)
            self._results.samples.add(layer, head, sample, sequence)

    def _largest(
        self, pattern: Float[Tensor, "pos pos"], n_tokens: int
    ) -> tuple[Int[np.ndarray, " weight"], Integer[np.ndarray, " weight"]]:
        """The largest weights of each query, by query and key, and how many steps of 1 / DIGITS each is."""
        rows = pattern[:n_tokens, :n_tokens]
        values, keys = rows.topk(min(self._settings.per_row, n_tokens), dim=-1)
        places = torch.arange(n_tokens, device=rows.device)[:, None] * n_tokens + keys
        kept = values >= self._settings.least
        indices, order = places[kept].cpu().sort()
        return indices.numpy(), (values[kept].cpu()[order] * DIGITS).round().numpy().astype(np.uint16)
