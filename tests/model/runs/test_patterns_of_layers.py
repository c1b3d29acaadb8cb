"""Patterns of several layers computed together, against those that the forward pass itself mixes values with."""

from dataclasses import replace

import pytest
import torch

from headlight.model import CutEdge, Transformer, load
from headlight.model.runs.head import patterns_of_layers
from headlight.model.runs.run import Run, make_run
from tests.tiny import KINDS, tiny

PROMPT = "One two three. Three one two, and four one."


def run_of(model: Transformer, ids: torch.Tensor) -> Run:
    model.tokenizer = load("mini").tokenizer
    with torch.inference_mode():
        return make_run(model, "", False, ids)


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_those_of_the_pass(kind: str) -> None:
    """Layers that share heads' keys, and those whose rules differ: windows, biases, caps and sinks."""
    model, ids = tiny(kind), load("mini").to_tokens(PROMPT)[0]
    run, layers, queries = run_of(model, ids), range(model.cfg.n_layers), [0, 4, len(ids) - 1]
    _, cache = model.run_with_cache(ids[None])
    expected = torch.stack([cache["pattern", layer][0] for layer in layers])
    torch.testing.assert_close(patterns_of_layers(run, layers, slice(0, len(ids))), expected, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(patterns_of_layers(run, layers, queries), expected[:, :, queries], rtol=1e-4, atol=1e-6)


def test_layers_of_different_windows_keep_theirs() -> None:
    model, ids = tiny("llama-like"), load("mini").to_tokens(PROMPT)[0]
    near = Transformer(replace(model.cfg, window_size=3, attn_types=("local", "global", "local")))
    near.load_state_dict(model.state_dict())
    local, everywhere, _ = patterns_of_layers(run_of(near, ids), range(3), slice(0, len(ids)))
    assert not local.tril(-3).any()
    assert everywhere.tril(-3).any()


def test_an_edited_layer_keeps_its_edit() -> None:
    model = load("mini")
    ids = model.to_tokens(PROMPT)[0]
    with torch.inference_mode():
        clean, cut = (make_run(model, "", False, ids, edits) for edits in ((), (CutEdge((1, 2), 7, 3),)))
    before, after = (patterns_of_layers(run, range(2), slice(0, len(ids))) for run in (clean, cut))
    torch.testing.assert_close(before[0], after[0])
    assert (before[1] != after[1]).nonzero().tolist() == [[2, 7, 3]]
