"""Thumbnails and scores of prompts of several blocks, against transformers' own patterns, and those of edited runs."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
import torch
import transformers
from torch import Tensor

from headlight.model import CutEdge, load
from headlight.model.runs import summaries
from headlight.model.runs.host import Host
from headlight.model.runs.run import LONG, Run, make_run

N_POS = 300  # two blocks of 128 queries and a part of one
SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": N_POS,
}
KINDS = {"causal": ("llama", {}), "window": ("mistral", {"sliding_window": 40})}


def tokens() -> Tensor:
    """So few kinds that most have come before."""
    return torch.randint(3, 40, (N_POS,), generator=torch.Generator().manual_seed(0))


def scores_by_definition(pattern: Tensor, ids: Tensor) -> Mapping[str, Tensor]:
    """Each head's mean scores, of sets of cells that are written down as `head_scores` says them."""
    query, key = torch.arange(N_POS)[:, None], torch.arange(N_POS)[None]
    copy = (ids[:, None] == ids) & (key < query)
    after = copy.roll(1, 1) & (key > 0) & (key < query)
    cells = {
        "previous_token": key == query - 1,
        "first_token": (key == 0) & (query > 0),
        "current_token": (key == query) & (query > 0),
        "duplicate_token": copy,
        "induction": after,
    }
    means = {name: (pattern * at).sum((1, 2)) / at.any(1).sum() for name, at in cells.items()}
    rows = {"entropy": torch.special.entr(pattern).sum(-1), "mean_distance": (pattern * (query - key).abs()).sum(-1)}
    return means | {name: row.mean(-1) for name, row in rows.items()}


@pytest.mark.parametrize("kind", ["causal", "window"])
def test_they_are_those_of_transformers_patterns(kind: str, tmp_path: Path) -> None:
    model_type, more = KINDS[kind]
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(model_type, **SIZES, **more, initializer_range=0.3)
    theirs = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32, attn_implementation="eager")
    theirs.eval().save_pretrained(tmp_path)
    model = load(tmp_path)
    model.tokenizer = load("mini").tokenizer
    with torch.inference_mode():
        run = make_run(model, "", False, tokens())
        patterns = theirs(tokens()[None], output_attentions=True).attentions
    assert not run.is_summarized
    for layer, (pattern,) in enumerate(patterns):
        bins = [rows.tensor_split(summaries.THUMBNAIL, 2) for rows in pattern.tensor_split(summaries.THUMBNAIL, 1)]
        largest = torch.stack([torch.stack([cells.amax((1, 2)) for cells in row], -1) for row in bins], 1)
        # Products of weights of 0.3 over two layers, in float32 and in another order.
        torch.testing.assert_close(run.thumbnails[layer], largest, rtol=1e-4, atol=1e-6)
        for name, expected in scores_by_definition(pattern.double(), tokens()).items():
            torch.testing.assert_close(run.scores[name].values[layer].double(), expected, rtol=1e-4, atol=1e-6)
    assert run.is_summarized


def test_an_edited_pattern_is_what_is_summarized() -> None:
    """Of 256 tokens, in blocks, all but those of the edited layer."""
    prompt = "one two three four five six seven eight " * 40
    model = load("mini")
    n_tokens = model.cfg.n_ctx
    ids = model.to_tokens(prompt)[0][:n_tokens]
    with torch.inference_mode():
        clean, cut = (make_run(model, "", False, ids, edits) for edits in ((), (CutEdge((1, 2), 200, 199),)))
    for layer, head in ((0, 0), (1, 2)):
        before, after = (run.scores["previous_token"].values[layer, head] for run in (clean, cut))
        weight = _weight(clean, layer, head, 200, 199) if head == 2 else 0.0
        torch.testing.assert_close(before - after, torch.tensor(weight / (n_tokens - 1)), rtol=1e-3, atol=1e-8)


def _weight(run: Run, layer: int, head: int, query: int, key: int) -> float:
    q, k = run.queries(layer)[query, head], run.keys(layer)[: query + 1, run.cfg.group_of(head)]
    return float((k @ q / run.model.block(layer).attn.attn_scale).softmax(-1)[key])


def test_of_a_long_prompt_each_layer_is_told_and_what_is_stopped_is_not_kept() -> None:
    class Stopping(Host):
        def __init__(self) -> None:
            self.heard: list[tuple[int, int]] = []

        def tell(self, done: int, total: int) -> None:
            self.heard.append((done, total))
            if len(self.heard) == 2:
                raise InterruptedError

    model = load("mini")
    ids = model.to_tokens("one two three four " * 80)[0][:LONG]
    assert len(ids) == LONG
    with torch.inference_mode():
        run = replace(make_run(model, "", False, ids), host=Stopping())
    with pytest.raises(InterruptedError):
        _ = run.scores
    assert len(run.scores["entropy"].values) == run.cfg.n_layers
    n_layers = run.cfg.n_layers
    assert run.host.heard[2:] == [(done, n_layers) for done in range(n_layers + 1)]  # type: ignore[attr-defined]


def test_a_run_waits_for_no_other_runs_summaries() -> None:
    begun, is_read = Event(), Event()

    class Waiting(Host):
        def turn(self) -> AbstractContextManager[None]:
            begun.set()
            assert is_read.wait(20)
            return nullcontext()

    model = load("mini")
    ids = model.to_tokens("one two three four " * 80)[0][:LONG]
    with torch.inference_mode():
        waiting, other = replace(make_run(model, "", False, ids), host=Waiting()), make_run(model, "", False, ids[:9])
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(lambda: waiting.scores)
        assert begun.wait(20)
        assert other.scores
        is_read.set()
        assert future.result(20)
