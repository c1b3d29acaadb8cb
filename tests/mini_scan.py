"""A small scan of `mini` over repeated lists of words, by plain loops over the patterns and not by our scan."""

from pathlib import Path

import numpy as np
import torch

from headlight.model import load
from tests.headvis_tree import sequence, write

WORDS = ["garden", "Paris", "river", "Monday", "yellow", "key", "door", "window", "apple", "stone", "north", "table"]
N_DOCUMENTS, KEPT = 6, 0.005


def texts() -> list[str]:
    """Lists of words, each twice."""
    lists = [" ".join(np.random.default_rng(seed).permutation(WORDS)) for seed in range(N_DOCUMENTS)]
    return [f"{each} {each}" for each in lists]


def write_scan(folder: Path) -> Path:
    """The tree, with two of HeadVis's figures and the strongest sequences of every head."""
    model = load("mini")
    assert model.tokenizer is not None
    every = [model.tokenizer.to_tokens(text, prepend_bos=True)[0] for text in texts()]
    patterns = [_patterns(model, tokens) for tokens in every]
    shape = model.cfg.n_layers, model.cfg.n_heads
    heads = list(np.ndindex(*shape))
    rows = [
        {"layer": layer, "head": head, **_figures([each[layer, head] for each in patterns], every)}
        for layer, head in heads
    ]
    metrics = ["prev_token_score", "induction_score"]
    names = {"model_name": "mini", "dataset_name": "lists of words", "n_layers": shape[0], "n_heads": shape[1]}
    write(folder / "config.json", {**names, "n_intervals": 2, "metrics": metrics})
    write(folder / "scatter_data.json", rows)
    for layer, head in heads:
        sequences = []
        for number, (tokens, pattern) in enumerate(zip(every, patterns, strict=True)):
            own = pattern[layer, head]
            cells = {(q, k): round(float(own[q, k]), 4) for q, k in np.argwhere(own >= KEPT).tolist()}
            labels = [model.tokenizer.to_string([each]) for each in tokens.tolist()]
            sequences.append(sequence(number, 2, cells, labels))
        write(folder / "heads" / f"L{layer}H{head}.json", {"sequences": sequences})
    return folder


def _patterns(model: torch.nn.Module, tokens: torch.Tensor) -> np.ndarray:
    with torch.inference_mode():
        _, cache = model.run_with_cache(tokens[None], names_filter=lambda name: name.endswith("hook_pattern"))
    return np.stack([cache["pattern", layer][0].numpy() for layer in range(model.cfg.n_layers)])


def _figures(patterns: list[np.ndarray], every: list[torch.Tensor]) -> dict[str, float]:
    previous, induction = [], []
    for pattern, tokens in zip(patterns, every, strict=True):
        previous += [pattern[query, query - 1] for query in range(1, len(tokens))]
        for query in range(len(tokens)):
            after = [key + 1 for key in range(query) if tokens[key] == tokens[query]]
            induction += [sum(pattern[query, key] for key in after)] if after else []
    return {"prev_token_score": float(np.mean(previous)), "induction_score": float(np.mean(induction))}
