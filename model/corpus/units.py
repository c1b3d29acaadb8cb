"""Results of a scan for a layer's neurons, or for a dictionary's features.

For every unit: how often it is active, its mean and largest activation, a histogram of its strength in sequences, the
tokens that it peaks at, and windows of tokens around its peak in some sequences: the strongest, and of each weaker
quarter of the calibration the one with the smallest sampling key. A sequence's first token, where activations are often
out of proportion, is ignored.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Shaped

from headlight.model.corpus.counts import Heaviest
from headlight.model.corpus.packing import Arrays

BUCKETS, TOP = 4, 4  # of strength, and sequences kept of the last of them
OTHERS = BUCKETS - 1
SLOTS = OTHERS + TOP
BEFORE, AFTER = 16, 7  # tokens of a window around the peak
WIDTH = BEFORE + 1 + AFTER
BINS = 20  # of the histogram, up to REACH times the calibration's largest strength; the last takes all beyond
REACH = 1.25
MAX_PEAKS = 16  # tokens of a unit
STEPS = 255  # a window's values are so many parts of its peak
NO_KEY = np.iinfo(np.int64).max
EMPTY: Mapping[str, tuple[type, int, tuple[int, ...]]] = {
    "lots": (np.int64, NO_KEY, ()),
    "strengths": (np.float32, 0, ()),
    "sequences": (np.int64, -1, ()),
    "starts": (np.int64, 0, ()),
    "peaks": (np.int16, 0, ()),
    "tokens": (np.int32, -1, (WIDTH,)),
    "values": (np.uint8, 0, (WIDTH,)),
}
PLAIN = ("active", "sums", "largest", "reach", "histogram")  # what is kept as it is

Slots = dict[str, Shaped[np.ndarray, "unit slot ..."]]


@dataclass(frozen=True, eq=False)
class UnitCalibration:
    """The calibration of one layer's units: boundaries of all buckets but the first, and the largest strength."""

    boundaries: Float[np.ndarray, "unit later_bucket"]
    largest: Float[np.ndarray, " unit"]

    @property
    def reach(self) -> Float[np.ndarray, " unit"]:
        """Upper end of the histograms; a unit that was never active takes the layer's largest."""
        known = np.where(self.largest > 0, self.largest, self.largest.max(initial=0))
        return np.maximum(known * REACH, 1e-6)


@dataclass(eq=False)
class Units:
    """The units of one layer: `slots` are windows, one of each weaker bucket and then the strongest, in no order.

    `starts` is the place of a window's first token in the document, `peaks` that of the peak in the window. `histogram`
    counts sequences by strength, in bins from 0 to `reach`.
    """

    n_tokens: int
    active: Int[np.ndarray, " unit"]
    sums: Float[np.ndarray, " unit"]
    largest: Float[np.ndarray, " unit"]
    reach: Float[np.ndarray, " unit"]
    histogram: Int[np.ndarray, "unit bin"]
    top_tokens: Heaviest
    slots: Slots

    @classmethod
    def empty(cls, calibration: UnitCalibration, d_vocab: int) -> "Units":
        """Return the results of no sequences."""
        n_units = len(calibration.largest)
        slots: Slots = {
            name: np.full((n_units, SLOTS, *more), empty, kind) for name, (kind, empty, more) in EMPTY.items()
        }
        return cls(
            0,
            active=np.zeros(n_units, np.int64),
            sums=np.zeros(n_units),
            largest=np.zeros(n_units, np.float32),
            reach=calibration.reach,
            histogram=np.zeros((n_units, BINS), np.int64),
            top_tokens=Heaviest(d_vocab, MAX_PEAKS),
            slots=slots,
        )

    def merge(self, later: "Units") -> None:
        """Add the results of other sequences."""
        self.n_tokens += later.n_tokens
        self.active += later.active
        self.sums += later.sums
        self.largest = np.maximum(self.largest, later.largest)
        self.histogram += later.histogram
        self.top_tokens.add(later.top_tokens.keys, later.top_tokens.weights)
        self._merge_slots(later.slots)

    def _merge_slots(self, later: Slots) -> None:
        both = {name: np.concatenate([own, later[name]], 1) for name, own in self.slots.items()}
        top = [slot for slot in range(2 * SLOTS) if slot % SLOTS >= OTHERS]
        order = np.lexsort((both["sequences"][:, top], -both["strengths"][:, top]), axis=-1)[:, :TOP]
        smaller = later["lots"][:, :OTHERS] < self.slots["lots"][:, :OTHERS]
        weaker = np.arange(OTHERS) + SLOTS * smaller
        kept = np.concatenate([weaker, np.array(top)[order]], 1)
        self.slots = in_order(both, kept)

    def arrays(self) -> Arrays:
        """All arrays to be packed."""
        return {
            "n_tokens": np.array(self.n_tokens),
            **{name: getattr(self, name) for name in PLAIN},
            "top_keys": self.top_tokens.keys,
            "top_weights": self.top_tokens.weights,
            **self.slots,
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, d_vocab: int) -> "Units":
        """Restore the units from `arrays`."""
        return cls(
            int(arrays["n_tokens"]),
            **{name: arrays[name] for name in PLAIN},
            top_tokens=Heaviest(d_vocab, MAX_PEAKS, arrays["top_keys"], arrays["top_weights"]),
            slots={name: arrays[name] for name in EMPTY},
        )


def in_order(slots: Slots, order: Int[np.ndarray, "unit kept"]) -> dict[str, Shaped[np.ndarray, "unit kept ..."]]:
    """Of every unit these slots, in this order."""
    return {
        name: np.take_along_axis(each, order.reshape(*order.shape, *[1] * (each.ndim - 2)), 1)
        for name, each in slots.items()
    }
