"""What wrote to a stream, and what it adds to a prediction, against the activations of a pass of their own."""

import pytest
import torch
from torch import Tensor

from headlight.model import Run, load, run_prompt
from headlight.model.attribution.logits import Question, attribution_by_source, writes_of
from headlight.model.attribution.parts import names_at, parts_at
from headlight.model.attribution.score import Cell
from headlight.model.attribution.write import written_apart
from headlight.model.nn.cache import ActivationCache

A, B = "The cat sat on the mat and the dog", "The cat sat on the mat and the bird"
HEAD, QUERY, KEY = (2, 1), 7, 3
CLOSE = {"rtol": 1e-4, "atol": 1e-4}  # float32, summed in another order


@pytest.fixture(scope="module")
def runs() -> tuple[Run, Run]:
    model = load("mini")
    return run_prompt(model, A), run_prompt(model, B)


def activations(run: Run) -> ActivationCache:
    with torch.inference_mode():
        return run.model.run_with_cache(run.tokens[None], lambda name: True)[1]


def on_tokens(run: Run, cache: ActivationCache, write: Tensor, position: int) -> Tensor:
    """What a write adds to every logit at a position's own LayerNorm scale."""
    scale = cache["ln_final.hook_scale"][0, position]
    return ((write - write.mean()) / scale * run.model.ln_final.w) @ run.model.unembed.W_U


@pytest.mark.parametrize("layer", [0, 2, None])
def test_the_parts_are_what_the_pass_wrote_and_sum_to_its_stream(runs: tuple[Run, Run], layer: int | None) -> None:
    run, cache = runs[0], activations(runs[0])
    parts = parts_at(run, QUERY, layer)
    n_layers = run.cfg.n_layers
    stream = cache["resid_post", n_layers - 1] if layer is None else cache["resid_pre", layer]
    torch.testing.assert_close(parts.vectors.sum(0), stream[0, QUERY], **CLOSE)
    assert names_at(run, QUERY, n_layers if layer is None else layer) == parts.parts
    for part, vector in zip(parts.parts, parts.vectors, strict=True):
        if part.head is not None:
            torch.testing.assert_close(vector, cache["result", part.layer][0, QUERY, part.head], **CLOSE)
        elif part.name.endswith("MLP"):
            torch.testing.assert_close(vector, cache["mlp_out", part.layer][0, QUERY], **CLOSE)


@torch.inference_mode()
def test_a_heads_effect_is_told_apart_by_the_tokens_that_it_took_it_from(runs: tuple[Run, Run]) -> None:
    run, cache = runs[0], activations(runs[0])
    (layer, head), target, distractor = HEAD, 40, 90
    torch.testing.assert_close(writes_of(run, HEAD, QUERY).sum(0), cache["result", layer][0, QUERY, head], **CLOSE)
    by_source = attribution_by_source(run, HEAD, Question(target, distractor, QUERY)).values
    v, pattern = cache["v", layer][0, :, head], cache["pattern", layer][0, head, QUERY]
    for key, value in enumerate(by_source):
        logits = on_tokens(run, cache, pattern[key] * v[key] @ run.model.blocks[layer].attn.W_O[head], QUERY)
        assert float(value) == pytest.approx(float(logits[target] - logits[distractor]), abs=1e-4)


@torch.inference_mode()
def test_what_an_edge_promotes_more_in_b_is_the_difference_of_its_effects_on_all_tokens(runs: tuple[Run, Run]) -> None:
    (layer, head), effects = HEAD, []
    at = Cell(*HEAD, len(runs[0].tokens) - 1, KEY)  # where the prompts differ
    for run in runs:
        cache = activations(run)
        write = cache["pattern", layer][0, head, at.query, KEY] * cache["v", layer][0, KEY, head]
        effects.append(on_tokens(run, cache, write @ run.model.blocks[layer].attn.W_O[head], at.query))
    apart = effects[1] - effects[0]
    tokens = written_apart((runs[0], at), (runs[1], at))
    torch.testing.assert_close(tokens.raised_by.values, apart.topk(len(tokens.raised_by.values)).values, **CLOSE)
    torch.testing.assert_close(tokens.lowered_by.values, apart[tokens.lowered.values], **CLOSE)
