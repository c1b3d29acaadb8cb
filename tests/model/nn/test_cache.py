"""The cache's two ways of naming an activation; TransformerLens's own shorthand is the oracle."""

import pytest
import torch
from transformer_lens.utilities import get_act_name

from headlight.model import ActivationCache
from headlight.model.base.errors import HookError
from headlight.model.nn.cache import activation_name
from headlight.model.nn.layers.attention import Attended
from tests.model.lens.lens_twin import lens_twin
from tests.model.oracles import random_model, random_tokens

SHORT = ["embed", "pos_embed", "scale", "normalized"]
SHORT_IN_LAYER = ["resid_pre", "resid_mid", "resid_post", "attn_out", "mlp_out", "q", "k", "v", "z", "result"]
SHORT_IN_LAYER += ["pattern", "attn_scores", "attn", "attn_logits", "query", "key", "value", "pre", "post"]


@pytest.fixture(scope="module")
def cache() -> ActivationCache:
    return random_model().run_with_cache(random_tokens())[1]


def test_shorthand_is_that_of_transformer_lens() -> None:
    for short in SHORT:
        assert activation_name(short) == get_act_name(short)
    for short in SHORT_IN_LAYER:
        assert activation_name(short, 3) == get_act_name(short, 3)
    for part in ("ln1", "ln2"):
        assert activation_name("scale", 0, part) == get_act_name("scale", 0, part)


def test_cached_activations_by_shorthand_are_those_of_transformer_lens() -> None:
    model, tokens = random_model(), random_tokens()
    _, theirs = lens_twin(model).run_with_cache(tokens)
    _, ours = model.run_with_cache(tokens)
    for key in [("pattern", 1), ("pattern", -1), ("scale", 0, "ln1"), ("normalized", 1, "ln2"), ("q", 0), "embed"]:
        torch.testing.assert_close(ours[key], theirs[key], rtol=1e-5, atol=2e-5)  # float32 sums in another order


def test_a_cache_is_a_mapping_in_forward_order(cache: ActivationCache) -> None:
    assert list(cache)[:2] == ["hook_embed", "hook_pos_embed"]
    assert len(cache) == len(list(cache)) == len(cache.items())
    assert cache["pattern", -1] is cache["blocks.1.attn.hook_pattern"]
    assert ("pattern", 1) in cache
    assert ("pattern", 2) not in cache
    assert "hook_embed" in cache
    assert 3 not in cache
    assert "hook_embed" in repr(cache)


def test_heads_apart_are_kept_only_when_named(cache: ActivationCache) -> None:
    assert not [name for name in cache if name.endswith("result")]
    _, named = random_model().run_with_cache(random_tokens(), "blocks.0.attn.hook_result")
    assert list(named) == ["blocks.0.attn.hook_result"]


@pytest.mark.parametrize(
    "key", ["blocks.0.attn.hook_patern", ("patern", 0), ("pattern", 2), ("result", 0), "hook_embd"]
)
def test_what_was_not_kept_is_refused_with_the_nearest_names(cache: ActivationCache, key: str) -> None:
    with pytest.raises(HookError, match=r"The cache holds no .* Nearest: "):
        cache[key]


@pytest.mark.parametrize("n_tokens", [7, 300], ids=["all heads at once", "a long prompt"])
def test_patterns_are_computed_when_first_read_and_are_those_of_the_pass(
    n_tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokens = random_model(n_ctx=300), random_tokens(n_pos=n_tokens)
    names = [name for name in model.hook_names if not name.endswith("result")]
    seen: list[str] = []
    for name, see in (("scores", Attended.scores), ("pattern", Attended.pattern)):
        monkeypatch.setattr(Attended, name, lambda self, name=name, see=see: seen.append(name) or see(self))
    with torch.inference_mode():
        _, kept = model.run_with_cache(tokens, lambda name: name.endswith(("attn_scores", "pattern")))
        _, cache = model.run_with_cache(tokens)
    assert list(cache) == names
    assert not seen
    for name in kept:
        # At a long prompt's patterns nobody looks in the second pass: torch's fused kernel, whose sums round otherwise.
        tolerance = 0 if n_tokens == 7 else 1e-5
        torch.testing.assert_close(cache[name], kept[name], rtol=tolerance, atol=tolerance)
        assert cache[name] is cache[name]
    assert len(seen) == len(kept)  # each once


def test_where_derivatives_are_asked_for_they_go_through_a_kept_pattern() -> None:
    model = random_model()
    logits, cache = model.run_with_cache(random_tokens())
    (grad,) = torch.autograd.grad(logits.sum(), cache["pattern", 0])
    assert grad.abs().sum() > 0
