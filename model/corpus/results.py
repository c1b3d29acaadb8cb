"""The results of a scan over some documents: sums, the heaviest tokens and pairs, and sampled sequences.

The results of two shards merge into those of both. One worker computes a shard, and shards are merged in order, so that
the bits do not depend on the number of workers or on interruptions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float, Int

from headlight.model.corpus.counts import MAX_PAIRS, MAX_TOKENS, Heaviest
from headlight.model.corpus.effects import Effects
from headlight.model.corpus.figures import Moments
from headlight.model.corpus.measures import QUANTITIES
from headlight.model.corpus.packing import Arrays, by_prefix, of_texts, packed, to_texts
from headlight.model.corpus.samples import Samples
from headlight.model.corpus.sequences import MAX_SEQUENCES
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.units import Units
from headlight.model.nn.config import TransformerConfig

BINS = 50  # of the histogram of strengths, from 0 to 1
DISTANCES = (0, *(2**power for power in range(13)))  # HeadVis's edges, of which the last bin takes all beyond
COUNTED = ("documents", "sequences", "tokens", "skipped")
MAX_NAMED = 20  # skipped documents
PLAIN = ("distances", "strengths", "strength_sums")  # what is kept as it is


@dataclass(eq=False)
class ScanResults:
    """Figures, histograms, tokens, pairs, samples and effects of some documents, and how many there were.

    `strengths` counts sequences by their largest weight, `distances` adds up weight by how far apart query and key are.
    A head's row of `tokens` is its number for its queries, and beyond all heads' again for its keys; a pair is query *
    d_vocab + key.
    `units` is by what and of which layer, as "neurons.0"; `names` are those of the documents that units were kept of.
    """

    moments: Moments
    distances: Float[np.ndarray, "layer head bin"]
    strengths: Int[np.ndarray, "layer head strength"]
    strength_sums: Float[np.ndarray, "layer head"]
    tokens: Heaviest
    pairs: Heaviest
    samples: Samples
    effects: Effects
    units: dict[str, Units] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))
    skipped: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def empty(cls, cfg: TransformerConfig, settings: ScanSettings) -> "ScanResults":
        """Return the results of no documents."""
        heads, n = (cfg.n_layers, cfg.n_heads), len(QUANTITIES)
        return cls(
            Moments(np.zeros((*heads, n)), np.zeros((*heads, n, n)), np.zeros((*heads, n), np.int64)),
            distances=np.zeros((*heads, len(DISTANCES) - 1)),
            strengths=np.zeros((*heads, BINS), np.int64),
            strength_sums=np.zeros(heads),
            tokens=Heaviest(cfg.d_vocab, MAX_TOKENS),
            pairs=Heaviest(cfg.d_vocab**2, MAX_PAIRS),
            samples=Samples(*heads, settings.intervals, settings.top, settings.others),
            effects=Effects(settings.ablate),
        )

    def skip(self, name: str, reason: str) -> None:
        """Count a document that cannot be used."""
        self.counts["skipped"] += 1
        self.skipped = [*self.skipped, (name, reason)][:MAX_NAMED]

    def merge(self, later: "ScanResults") -> None:
        """Add the results of the documents after these."""
        self.moments = self.moments + later.moments
        self.distances += later.distances
        self.strengths += later.strengths
        self.strength_sums += later.strength_sums
        self.tokens.add(later.tokens.keys, later.tokens.weights)
        self.pairs.add(later.pairs.keys, later.pairs.weights)
        self.samples.merge(later.samples)
        self.effects.merge(later.effects)
        for key, units in later.units.items():
            if key in self.units:
                self.units[key].merge(units)
            else:
                self.units[key] = units
        self.name_documents(self.names | later.names)
        self.counts = {name: self.counts[name] + later.counts[name] for name in COUNTED}
        self.skipped = (self.skipped + later.skipped)[:MAX_NAMED]

    def name_documents(self, names: Mapping[int, str]) -> None:
        """Keep the names of the documents with sampled units."""
        kept = [np.unique(units.slots["sequences"]) for units in self.units.values()]
        used = np.unique(np.concatenate(kept) // MAX_SEQUENCES).tolist() if kept else []
        self.names = {document: names[document] for document in used if document >= 0}

    def to_bytes(self, **also: int) -> bytes:
        """Serialise the results, with further numbers beside them."""
        arrays: Arrays = {
            "totals": self.moments.totals,
            "products": self.moments.products,
            "document_counts": self.moments.counts,
            **{name: getattr(self, name) for name in PLAIN},
            "token_keys": self.tokens.keys,
            "token_weights": self.tokens.weights,
            "pair_keys": self.pairs.keys,
            "pair_weights": self.pairs.weights,
            "counts": np.array([self.counts[name] for name in COUNTED]),
            "skipped": of_texts([text for pair in self.skipped for text in pair]),
            **{name: np.array(number) for name, number in also.items()},
            **self.samples.arrays(),
            "named": np.array(list(self.names), np.int64),
            "names": of_texts(list(self.names.values())),
            **{f"{key}:{name}": each for key, units in self.units.items() for name, each in units.arrays().items()},
            **self.effects.arrays(),
        }
        return packed(arrays)

    @classmethod
    def from_arrays(cls, arrays: Arrays, cfg: TransformerConfig, settings: ScanSettings) -> "ScanResults":
        """Restore results from the unpacked arrays of `to_bytes`."""
        empty, texts = cls.empty(cfg, settings), to_texts(arrays["skipped"])
        return cls(
            Moments(arrays["totals"], arrays["products"], arrays["document_counts"]),
            **{name: arrays[name] for name in PLAIN},
            tokens=replace(empty.tokens, keys=arrays["token_keys"], weights=arrays["token_weights"]),
            pairs=replace(empty.pairs, keys=arrays["pair_keys"], weights=arrays["pair_weights"]),
            samples=empty.samples.fill(arrays),
            effects=empty.effects.fill(arrays),
            units={key: Units.from_arrays(each, cfg.d_vocab) for key, each in by_prefix(arrays).items()},
            names=dict(zip(arrays["named"].tolist(), to_texts(arrays["names"]), strict=True)),
            counts=dict(zip(COUNTED, arrays["counts"].tolist(), strict=True)),
            skipped=list(zip(texts[::2], texts[1::2], strict=True)),
        )
