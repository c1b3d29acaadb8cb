"""The results of a scan: the tree of files that HeadVis reads, as values.

A scan's folder is such a tree, and so is what Neuronpedia exports:

    config.json           of which model and corpus, which heads and figures; under `headlight` what only we say
    scatter_data.json     every head's figures: a row a head, and in ours under `intervals` how sure each is
    heads/L3H5.json       one head: sampled sequences, histograms, top tokens; in ours also top pairs and `matters`

Source: the files that Neuronpedia's `headvis/compute-head-metrics.py` writes (Luger, Kamath et al. 2026).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

Head = tuple[int, int]  # layer, head
Interval = tuple[float, float]  # of 95%

CONFIG, SCATTER, HEADS = "config.json", "scatter_data.json", "heads"
PATTERN = "L{layer}H{head}.json"  # the file of a head


@dataclass(frozen=True)
class HeadRow:
    """One head's figures by their names; None where the corpus has nothing that one is about."""

    layer: int
    head: int
    values: Mapping[str, float | None]
    intervals: Mapping[str, Interval] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class SampledSequence:
    """A sequence of the corpus with the largest weights of one head.

    `interval` is its bucket, from 1, where the head is least active, to the tree's `n_intervals`. A weight's index is
    query * n_tokens + key. `start` is the place of its first token in the document. What another's tree does not say is
    empty or None.
    """

    sequence_id: int
    interval: int
    tokens: tuple[str, ...]
    attention_indices: Int[np.ndarray, " weight"]
    attention_values: Float[np.ndarray, " weight"]
    max_activation: float | None = None
    document: str = ""
    start: int | None = None
    token_ids: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """Its tokens' text."""
        return "".join(self.tokens)

    @property
    def strongest(self) -> tuple[int, int] | None:
        """Query and key of the largest weight that `max_activation` counts: without the first row and column."""
        n_tokens = len(self.tokens)
        queries, keys = np.divmod(self.attention_indices, max(n_tokens, 1))
        counted = np.flatnonzero((queries > 0) & (keys > 0))
        if not len(counted):
            return None
        place = counted[np.argmax(self.attention_values[counted])]
        return int(queries[place]), int(keys[place])


@dataclass(frozen=True)
class Histogram:
    """Counts between consecutive edges; there is one more edge than values."""

    bin_edges: tuple[float, ...]
    bin_values: tuple[float, ...]


@dataclass(frozen=True)
class TokenPair:
    """A query's and a key's token, and how much attention flows between them in the corpus."""

    query: str
    key: str
    weight: float


@dataclass(frozen=True)
class Effect:
    """A mean with its 95% interval over documents, in nats, and of how many tokens it is."""

    mean: float
    interval: Interval | None = None
    n: int | None = None


@dataclass(frozen=True)
class Matters:
    """Change of the next token's loss when the head is mean-ablated: on all tokens, where it is active, and elsewhere.

    `direct` is the head's direct effect on the right token's logit.
    """

    loss_change: Effect | None = None
    when_active: Effect | None = None
    when_not: Effect | None = None
    direct: Effect | None = None


@dataclass(frozen=True, eq=False)
class Dashboard:
    """A scan's results for one head."""

    layer: int
    head: int
    sequences: tuple[SampledSequence, ...]
    histogram: Histogram | None = None
    qk_distance_histogram: Histogram | None = None
    top_query_tokens: tuple[tuple[str, float], ...] = ()
    top_key_tokens: tuple[tuple[str, float], ...] = ()
    top_pairs: tuple[TokenPair, ...] = ()
    statistics: Mapping[str, float | None] = field(default_factory=dict)
    matters: Matters | None = None


@dataclass(frozen=True, eq=False)
class Window:
    """Some tokens of the corpus around a peak of a unit: of the buckets from 1 to 4 the last has the strongest."""

    bucket: int
    strength: float
    document: str
    start: int
    peak: int
    token_ids: tuple[int, ...]
    activations: Float[np.ndarray, " pos"]


@dataclass(frozen=True, eq=False)
class UnitDashboard:
    """A scan's results for a neuron or a feature; density is the share of tokens at which it is active (above 0).

    `histogram` counts sequences by their largest activation, the last bin all beyond. `top_tokens` are those that
    sequences peak at, by the sum of the peaks.
    """

    layer: int
    index: int
    density: float
    mean: float
    largest: float
    histogram: Histogram
    top_tokens: tuple[tuple[int, float], ...]
    windows: tuple[Window, ...]


@dataclass(frozen=True)
class Provenance:
    """The provenance of one of our scans: weights, corpus, settings, and how much was read.

    One that is not `complete` is still being made. `step` is the training step of the weights, `loss` the
    model's mean loss of the next token, in nats.
    """

    version: int = 1
    model: str = ""
    revision: str | None = None
    corpus: str = ""
    step: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    complete: bool = True
    n_documents: int | None = None
    n_sequences: int | None = None
    n_tokens: int | None = None
    n_skipped: int | None = None
    skipped: tuple[Mapping[str, Any], ...] = ()
    loss: float | None = None


@dataclass(frozen=True, eq=False)
class Tree:
    """A scan: its model and corpus, its figures with descriptions, and every head's row.

    `provenance` is None in a tree that is not ours. One head's dashboard is read by `reading.read_dashboard`.
    """

    folder: Path
    model_name: str
    dataset_name: str
    n_layers: int
    n_heads: int
    n_intervals: int
    metrics: tuple[str, ...]
    descriptions: Mapping[str, str]
    rows: Mapping[Head, HeadRow]
    pattern: str = PATTERN
    provenance: Provenance | None = None
