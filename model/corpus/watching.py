"""The neurons and features that a scan watches, and how their results are collected sequence by sequence."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.base.errors import ScanError
from headlight.model.corpus.sequences import Batch, CutSequence
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.units import BEFORE, BINS, BUCKETS, OTHERS, STEPS, WIDTH, UnitCalibration, Units
from headlight.model.features.opening import open_dictionary
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import Look, Tap
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.dictionary import Dictionary

NEURONS, FEATURES = "neurons", "features"
Key = str  # "neurons.3": of what, and of which layer
See = Callable[[Key, CutSequence, Float[Tensor, "pos unit"]], None]


@dataclass(frozen=True, eq=False)
class Watched:
    """Recorded units of one layer, and the function that computes them from the named activation."""

    key: Key
    name: str
    n_units: int
    read: Callable[[Float[Tensor, "pos ..."]], Float[Tensor, "pos unit"]]


def watched(model: Transformer, settings: ScanSettings) -> tuple[Watched, ...]:
    """All units that the settings ask for.

    Raises:
        HeadlightError: the model has none, or the dictionary does not fit it.
    """
    return (*_neurons(model.cfg, settings), *_features(model, settings))


def _neurons(cfg: TransformerConfig, settings: ScanSettings) -> Iterator[Watched]:
    if not settings.neurons:
        return
    if cfg.d_mlp is None or cfg.attn_only or cfg.num_experts:
        raise ScanError(
            "--neurons is for models with one MLP in each layer; this one has none, or several that take turns."
        )
    count = min(cfg.d_mlp, settings.units // cfg.n_layers)
    for layer in range(cfg.n_layers):
        yield Watched(f"{NEURONS}.{layer}", f"blocks.{layer}.mlp.hook_post", count, lambda acts: acts[:, :count])


def _features(model: Transformer, settings: ScanSettings) -> Iterator[Watched]:
    if not settings.features:
        return
    opened = open_dictionary(settings.features, model)
    for layer, dictionary in opened.items():
        if not dictionary.hook_in.startswith("blocks."):
            raise ScanError(f"{dictionary.name} reads {dictionary.hook_in}; a scan watches what lies in the layers.")
        count = min(dictionary.n_features, settings.units // len(opened))
        yield Watched(f"{FEATURES}.{layer}", dictionary.hook_in, count, _encoded(dictionary, count))


def _encoded(dictionary: Dictionary, count: int) -> Callable[[Tensor], Tensor]:
    return lambda acts: dictionary.encode(acts.flatten(1))[:, :count]


class UnitTap(Tap):
    """Tap that passes the recorded units of every sequence of a batch to `see`, without the first token."""

    def __init__(self, units: Sequence[Watched], batch: Batch, see: See) -> None:
        self._by_name: dict[str, list[Watched]] = {}
        for each in units:
            self._by_name.setdefault(each.name, []).append(each)
        self._batch, self._see = batch, see

    def look(self, name: str) -> Look:
        return Look.WHOLE if name in self._by_name else Look.NEVER

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        for each in self._by_name.get(name, ()):
            for row, sequence in zip(activation, self._batch.sequences, strict=True):
                self._see(
                    each.key, sequence, each.read(row[1 : len(sequence.tokens)]).float().nan_to_num(0, 0, 0).cpu()
                )
        return activation


class UnitGatherer:
    """Add sequences to the results of the watched units."""

    def __init__(
        self, units: dict[Key, Units], calibration: Mapping[Key, UnitCalibration], seed: int, d_vocab: int
    ) -> None:
        self._results, self._calibration, self._seed, self._d_vocab = units, calibration, seed, d_vocab
        self._peaks: dict[Key, list[tuple[Int[np.ndarray, " _"], Float[np.ndarray, " _"]]]] = {}

    def see(self, key: Key, sequence: CutSequence, acts: Float[Tensor, "pos unit"]) -> None:
        """Take one sequence's activations."""
        if key not in self._results:
            self._results[key] = Units.empty(self._calibration[key], self._d_vocab)
        units = self._results[key]
        positive = acts.clamp(min=0)
        units.n_tokens += len(acts)
        units.active += (acts > 0).sum(0).numpy()
        units.sums += acts.sum(0, dtype=torch.float64).numpy()
        strengths, places = (each.numpy() for each in positive.max(0))
        units.largest = np.maximum(units.largest, strengths)
        self._count(key, units, strengths, np.array(sequence.tokens)[places + 1])
        self._keep(units, self._calibration[key], sequence, positive.numpy(), strengths, places)

    def finish(self) -> None:
        """Merge what was collected per sequence."""
        for key, peaks in self._peaks.items():
            keys, weights = (np.concatenate(each) for each in zip(*peaks, strict=True))
            self._results[key].top_tokens.add(keys, weights)

    def _count(
        self, key: Key, units: Units, strengths: Float[np.ndarray, " unit"], tokens: Int[np.ndarray, " unit"]
    ) -> None:
        bins = (strengths / units.reach * BINS).clip(max=BINS - 1).astype(np.int64)
        every = np.arange(len(strengths))
        units.histogram[every, bins] += 1
        there = strengths > 0
        numbers = units.top_tokens.key(every[there], tokens[there])
        self._peaks.setdefault(key, []).append((numbers, strengths[there].astype(np.float64)))

    def _keep(
        self,
        units: Units,
        calibration: UnitCalibration,
        sequence: CutSequence,
        acts: Float[np.ndarray, "pos unit"],
        strengths: Float[np.ndarray, " unit"],
        places: Int[np.ndarray, " unit"],
    ) -> None:
        sampling_key, buckets = (
            sequence.sampling_key(self._seed),
            (calibration.boundaries <= strengths[:, None]).sum(-1),
        )
        last, slot = buckets == BUCKETS - 1, buckets.clip(max=OTHERS - 1)
        every = np.arange(len(strengths))
        worst = OTHERS + _worst(units)
        weakest, holder = units.slots["strengths"][every, worst], units.slots["sequences"][every, worst]
        stronger = (strengths > weakest) | ((strengths == weakest) & (sequence.identity < holder))
        slot = np.where(last, worst, slot)
        kept = np.flatnonzero(
            (strengths > 0) & np.where(last, stronger, sampling_key < units.slots["lots"][every, slot])
        )
        _put(units, kept, slot[kept], sampling_key, sequence, acts[:, kept], strengths[kept], places[kept])


def _worst(units: Units) -> Int[np.ndarray, " unit"]:
    """Slot to replace for each unit: its weakest sequence, of equal ones the latest."""
    strengths, sequences = (units.slots[name][:, OTHERS:] for name in ("strengths", "sequences"))
    weakest = strengths == strengths.min(1, keepdims=True)
    return np.where(weakest, sequences, -2).argmax(1)


def _put(
    units: Units,
    kept: Int[np.ndarray, " some"],
    slot: Int[np.ndarray, " some"],
    sampling_key: int,
    sequence: CutSequence,
    acts: Float[np.ndarray, "pos some"],
    strengths: Float[np.ndarray, " some"],
    places: Int[np.ndarray, " some"],
) -> None:
    """Windows around the peaks of one sequence; `places` count from its second token."""
    n_tokens, peak = len(sequence.tokens), places + 1
    first = np.minimum(np.maximum(peak - BEFORE, 0), max(n_tokens - WIDTH, 0))
    at = first[:, None] + np.arange(WIDTH)
    inside, at = at < n_tokens, at.clip(max=n_tokens - 1)
    shares = acts[(at - 1).clip(min=0), np.arange(len(kept))[:, None]] / strengths[:, None]
    columns = {
        "lots": sampling_key,
        "strengths": strengths,
        "sequences": sequence.identity,
        "starts": sequence.start + first,
        "peaks": peak - first,
        "tokens": np.where(inside, np.array(sequence.tokens)[at], -1),
        "values": np.where(inside & (at > 0), (shares * STEPS).round(), 0),
    }
    for name, values in columns.items():
        units.slots[name][kept, slot] = values
