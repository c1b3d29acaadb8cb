"""Write a scan as the tree that HeadVis's own page reads, with further entries of ours.

The same findings give the same bytes. Figures and weights have four digits behind the point, small effects four in all.

Source: the files that Neuronpedia's `headvis/compute-head-metrics.py` writes (Luger, Kamath et al. 2026).
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from headlight.model.corpus.disk import write_whole
from headlight.model.corpus.effects import Matters, matters_by
from headlight.model.corpus.figures import RATIOS, estimate
from headlight.model.corpus.folder import MANIFEST, SERVER
from headlight.model.corpus.results import BINS, DISTANCES, ScanResults
from headlight.model.corpus.samples import DIGITS, Sample
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.titles import FIGURES, Estimates
from headlight.model.corpus.tree import CONFIG, HEADS, PATTERN, SCATTER
from headlight.model.corpus.unit_files import write_units
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.run import tokenizer_of
from headlight.model.text.tokenizer import Tokenizer

VERSION = 1
EFFECTS = {"loss_change": "loss_change", "loss_change_active": "when_active", "direct_effect": "direct"}
PLOTS = {"qk_distance_histogram": "Q-K distance", "histogram": "Activation distribution"}
TABLES = {"top_query_tokens": "Top query tokens", "top_key_tokens": "Top key tokens", "top_pairs": "Top token pairs"}
STATISTICS = {"n_samples": "Samples kept", "mean_max_activation": "Mean max activation"}


def write_tree(
    folder: Path,
    model: Transformer,
    results: ScanResults,
    settings: ScanSettings,
    identity: Mapping[str, Any],
    complete: bool = True,
) -> None:
    """Write all files of a scan, config.json last: a folder that has one is a tree.

    Raises:
        ScanError: the disk is full, or the folder cannot be written to.
    """
    tokenizer, moments = tokenizer_of(model), results.effects.moments
    matters = {} if moments is None else matters_by(moments)
    for layer, head in np.ndindex(*results.strength_sums.shape):
        name = PATTERN.format(layer=layer, head=head)
        _write(folder / HEADS / name, _head(results, matters, tokenizer, settings, layer, head))
    write_units(folder, results.units, results.names)
    _write(folder / SERVER, {})  # nobody to ask: the files are all there is
    _write(folder / MANIFEST, {})
    _write(folder / SCATTER, _rows(results, matters))
    _write(folder / CONFIG, _config(results, settings, identity, complete))


def _write(path: Path, content: object) -> None:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    write_whole(path, f"{text}\n".encode())


def _config(
    results: ScanResults, settings: ScanSettings, identity: Mapping[str, Any], complete: bool
) -> dict[str, Any]:
    n_layers, n_heads = results.strength_sums.shape
    model, corpus, loss = identity["model"], identity["corpus"], results.effects.loss
    descriptions = {name: FIGURES[name].meaning for name in (*RATIOS, *(EFFECTS if loss is not None else ()))}
    return {
        "model_name": model["name"],
        "dataset_name": corpus["corpus"],
        "heads": [[layer, head] for layer in range(n_layers) for head in range(n_heads)],
        "n_layers": n_layers,
        "n_heads": n_heads,
        "n_intervals": settings.intervals,
        "metrics": list(descriptions),
        "metric_descriptions": descriptions,
        "head_data_pattern": PATTERN,
        "has_umap": False,
        "umap_heads": [],
        "custom_plots": [{"key": key, "label": label} for key, label in PLOTS.items()],
        "custom_tables": [{"key": key, "label": label} for key, label in TABLES.items()],
        "statistics_display": {key: {"label": label, "format": "default"} for key, label in STATISTICS.items()},
        "pipeline_config": _pipeline(results, settings, identity),
        "headlight": {
            "version": VERSION,
            "model": model["name"],
            "revision": model["revision"],
            "corpus": corpus["corpus"],
            "step": settings.step if settings.step >= 0 else None,
            "settings": settings.as_dict(),
            "complete": complete,
            **{f"n_{name}": count for name, count in results.counts.items()},
            "skipped": [{"document": document, "reason": reason} for document, reason in results.skipped],
            "loss": _rounded(loss),
            "identity": identity,
        },
    }


def _pipeline(results: ScanResults, settings: ScanSettings, identity: Mapping[str, Any]) -> dict[str, Any]:
    """The fields by which Neuronpedia's loader identifies a run, under its names."""
    n_layers, n_heads = results.strength_sums.shape
    return {
        "model_name": identity["model"]["name"],
        "dataset_name": identity["corpus"]["corpus"],
        "n_sequences": results.counts["sequences"],
        "actual_sequences_processed": results.counts["sequences"],
        "seq_len": settings.length,
        "batch_size": settings.batch,
        "dtype": settings.dtype,
        "attn_implementation": "headlight",
        "n_intervals": settings.intervals,
        "samples_per_interval": settings.others,
        "samples_per_top_interval": settings.top,
        "sparse_topk_per_row": settings.per_row,
        "sparse_threshold": settings.least,
        "sample_seed": settings.seed,
        "num_hidden_layers": n_layers,
        "num_attention_heads": n_heads,
    }


def _rows(results: ScanResults, matters: Matters) -> list[dict[str, Any]]:
    figures: dict[str, tuple[Estimates, Callable[[float], float | None]]]
    figures = {name: (estimate(results.moments, name), _rounded) for name in RATIOS}
    figures |= {name: (matters[effect][0], _four) for name, effect in EFFECTS.items() if matters}
    return [
        {
            "layer": layer,
            "head": head,
            **{name: short(float(each.values[layer, head])) for name, (each, short) in figures.items()},
            "intervals": dict(_intervals(figures, layer, head)),
        }
        for layer, head in np.ndindex(*results.strength_sums.shape)
    ]


def _intervals(figures: Mapping[str, Any], layer: int, head: int) -> Iterator[tuple[str, list[float]]]:
    for name, (each, short) in figures.items():
        ends = [short(float(end[layer, head])) for end in (each.low, each.high)]
        if None not in ends:
            yield name, ends


def _head(
    results: ScanResults, matters: Matters, tokenizer: Tokenizer, settings: ScanSettings, layer: int, head: int
) -> dict[str, Any]:
    samples = list(results.samples.of_head(layer, head))
    strengths, n_top = results.strengths[layer, head], settings.top_tokens
    n_sequences, n_heads = int(strengths.sum()), results.strength_sums.size
    number = layer * results.strength_sums.shape[1] + head
    mean = float(results.strength_sums[layer, head] / n_sequences) if n_sequences else math.nan
    query, key = (_tokens(tokenizer, results.tokens.top(side * n_heads + number, n_top)) for side in range(2))
    return {
        "sequences": [_sequence(results, sample, tokenizer) for sample in samples],
        "qk_distance_histogram": {
            "bin_edges": list(map(float, DISTANCES)),
            "bin_values": [_rounded(weight) for weight in results.distances[layer, head].tolist()],
        },
        "top_query_tokens": query,
        "top_key_tokens": key,
        "top_pairs": _pairs(results, tokenizer, number, n_top),
        "histogram": {
            "bin_edges": [round(edge / BINS, 4) for edge in range(BINS + 1)],
            "bin_values": strengths.tolist(),
        },
        "statistics": {"n_samples": len(samples), "mean_max_activation": _rounded(mean)},
        "matters": _matters(matters, layer, head),
    }


def _sequence(results: ScanResults, sample: Sample, tokenizer: Tokenizer) -> dict[str, Any]:
    sequence = results.samples.sequences[sample.sequence]
    return {
        "sequence_id": sequence.identity,
        "interval": sample.interval,
        "tokens": tokenizer.to_str_tokens(sequence.tokens),
        "attention_indices": sample.indices.tolist(),
        "attention_values": [value / DIGITS for value in sample.values.tolist()],
        "seq_len": len(sequence.tokens),
        "max_activation": _rounded(sample.strength),
        "document": sequence.name,
        "start": sequence.start,
        "token_ids": list(sequence.tokens),
    }


def _tokens(tokenizer: Tokenizer, top: list[tuple[int, float]]) -> list[dict[str, Any]]:
    texts = tokenizer.to_str_tokens([token for token, _ in top])
    return [{"token": text, "weight": _rounded(weight)} for text, (_, weight) in zip(texts, top, strict=True)]


def _pairs(results: ScanResults, tokenizer: Tokenizer, head: int, count: int) -> list[dict[str, Any]]:
    top = [(*divmod(pair, results.tokens.size), weight) for pair, weight in results.pairs.top(head, count)]
    queries = tokenizer.to_str_tokens([query for query, _, _ in top])
    keys = tokenizer.to_str_tokens([key for _, key, _ in top])
    return [
        {"query": query, "key": key, "weight": _rounded(weight)}
        for query, key, (_, _, weight) in zip(queries, keys, top, strict=True)
    ]


def _matters(matters: Matters, layer: int, head: int) -> dict[str, Any] | None:
    """The effects of ablating a head; None for a figure over no tokens."""
    entries: dict[str, Any] = {}
    for name, (each, n_tokens) in matters.items():
        mean, low, high = (_four(float(measure[layer, head])) for measure in (each.values, each.low, each.high))
        interval = None if low is None else [low, high]
        entries[name] = None if mean is None else {"mean": mean, "interval": interval, "n": int(n_tokens[layer, head])}
    return entries or None


def _rounded(number: float | None) -> float | None:
    """Rounded to four digits after the point, as in HeadVis; None for NaN."""
    return None if number is None or not math.isfinite(number) else round(number, 4)


def _four(number: float) -> float | None:
    """Rounded to four significant digits, for values that may be small; None for NaN."""
    return float(f"{number:.4g}") if math.isfinite(number) else None
