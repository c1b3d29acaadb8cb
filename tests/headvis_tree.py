"""A tree of files as HeadVis reads it, written by hand from the format's description and not by our writer."""

import json
from pathlib import Path
from typing import Any

METRICS = (
    "self_attention_score",
    "prev_token_score",
    "pattern_entropy",
    "qk_distance",
    "qk_distance_variance",
    "induction_score",
)
TOKENS = ["<s>", " key", " door", "\n", " key", " door"]


def sequence(number: int, interval: int, weights: dict[tuple[int, int], float], tokens: list[str]) -> dict[str, Any]:
    """A sampled sequence with the weights of some cells (query, key)."""
    inner = [weight for (query, key), weight in weights.items() if query and key]
    return {
        "sequence_id": number,
        "interval": interval,
        "tokens": tokens,
        "attention_indices": [query * len(tokens) + key for query, key in weights],
        "attention_values": list(weights.values()),
        "seq_len": len(tokens),
        "max_activation": max(inner, default=0.0),
    }


def head_file(layer: int, head: int, tokens: list[str] = TOKENS) -> dict[str, Any]:
    """One head's file: two strong sequences and a weak one, histograms and top tokens."""
    strong = {(0, 0): 1.0, (4, 2): 0.9, (5, 3): 0.75, (5, 0): 0.25}
    return {
        "sequences": [
            sequence(7, 1, {(0, 0): 1.0, (2, 1): 0.125}, tokens),
            sequence(3, 5, {**strong, (4, 2): 0.5 + 0.05 * (layer + head)}, tokens),
            sequence(2, 5, strong, tokens),
        ],
        "qk_distance_histogram": {"bin_edges": [0, 1, 2, 4], "bin_values": [3.0, 0.125, 3.05]},
        "top_query_tokens": [{"token": " door", "weight": 1.75}, {"token": " key", "weight": 0.9}],
        "top_key_tokens": [{"token": " door", "weight": 1.4}],
        "histogram": {"bin_edges": [0.0, 0.25, 0.5, 0.75, 1.0], "bin_values": [4, 0, 1, 2]},
        "statistics": {"n_samples": 3, "mean_max_activation": 0.4},
    }


def ours(layer: int, head: int) -> dict[str, Any]:
    """What a head's file has in a scan of ours besides."""
    matters = {"mean": 0.02 * (layer + 1), "interval": [0.01 * head, 0.05], "n": 120}
    return {
        "top_pairs": [{"query": " door", "key": "\n", "weight": 1.5}],
        "matters": {
            "loss_change": matters,
            "when_active": {"mean": 0.4, "interval": [0.25, 0.5], "n": 20},
            "when_not": {"mean": 0.0, "interval": [-0.01, 0.01], "n": 100},
            "direct": {"mean": 0.3, "interval": [0.2, 0.4]},
        },
    }


def figures(layer: int, head: int) -> dict[str, float]:
    """A head's six figures: the later the layer, the more induction."""
    values = (0.125, 0.9 - 0.2 * layer, 1.5 - 0.1 * head, 3.5 + head, 2.0, round(0.12 + 0.15 * layer + 0.01 * head, 4))
    return dict(zip(METRICS, values, strict=True))


def write_tree(
    folder: Path,
    model: str = "mini",
    shape: tuple[int, int] = (4, 8),
    *,
    settings: dict[str, Any] | None = None,
    tokens: list[str] = TOKENS,
    figures: Any = figures,
) -> Path:
    """A tree of all heads; with `settings`, our own key in config.json, one as ours is."""
    n_layers, n_heads = shape
    every = [(layer, head) for layer in range(n_layers) for head in range(n_heads)]
    config = {
        "model_name": model,
        "dataset_name": "monology/pile-uncopyrighted",
        "heads": [list(each) for each in every],
        "n_layers": n_layers,
        "n_heads": n_heads,
        "n_intervals": 5,
        "metrics": list(METRICS),
        "metric_descriptions": {"induction_score": "Average attention to the position after an earlier occurrence."},
        "head_data_pattern": "L{layer}H{head}.json",
        "has_umap": False,
        "umap_heads": [],
        "custom_plots": [{"key": "qk_distance_histogram", "label": "Q-K distance"}],
        "custom_tables": [{"key": "top_query_tokens", "label": "Top query tokens"}],
        "statistics_display": {"n_samples": {"label": "Samples kept", "format": "default"}},
        "pipeline_config": {"n_sequences": 4096, "seq_len": 512},
    }
    if settings is not None:
        config["headlight"] = settings
    rows: list[dict[str, Any]] = []
    for layer, head in every:
        values = figures(layer, head)
        row = {"layer": layer, "head": head, **values}
        own = {"intervals": {name: [value - 0.01, value + 0.02] for name, value in values.items()}}
        rows.append({**row, **(own if settings is not None else {})})
    write(folder / "config.json", config)
    write(folder / "scatter_data.json", rows)
    write(folder / "server_config.json", {})
    write(folder / "attributions" / "manifest.json", {})
    for layer, head in every:
        extra = ours(layer, head) if settings is not None else {}
        write(folder / "heads" / f"L{layer}H{head}.json", {**head_file(layer, head, tokens), **extra})
    return folder


def write(path: Path, content: Any) -> None:
    """A JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
