"""One head's steps, against the model's own activations, transformers' weights, and a case computed by hand."""

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from headlight.model import Transformer, load
from headlight.model.measure.head_steps import HeadSteps, Norm, head_steps, normalize, terms
from headlight.model.nn.cache import ActivationCache
from headlight.model.nn.layers.attention import attention_scale
from tests.model.oracles import ATOL, RTOL, VARIANTS, random_gpt2, random_model, random_tokens

QUERY = 4


def _norm(model: Transformer, layer: int) -> Norm | None:
    if model.cfg.normalization_type is None:
        return None
    own = {name.rpartition(".")[2]: each for name, each in model.named_parameters() if f"blocks.{layer}.ln1." in name}
    return Norm(model.cfg.eps, own.get("w"), own.get("b"))


def _parameter(model: Transformer, layer: int, name: str) -> Tensor:
    return model.get_parameter(f"blocks.{layer}.attn.{name}")


def _steps(model: Transformer, cache: ActivationCache, layer: int, head: int) -> HeadSteps:
    q, k, v = (cache[name, layer][0, :, head] for name in ("q", "k", "v"))
    visible = cache["attn_scores", layer][0, head, QUERY].isfinite()
    W_O, scale = _parameter(model, layer, "W_O")[head], attention_scale(model.cfg, layer)
    return head_steps(cache["resid_pre", layer][0], _norm(model, layer), q[QUERY], k, v, W_O, visible, scale)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_step_is_the_models_own(variant: str) -> None:
    model = random_model(**VARIANTS[variant])

    def projected(layer: int, head: int, name: str, read: Tensor) -> Tensor:
        W, b = (_parameter(model, layer, f"{kind}_{name}")[head] for kind in "Wb")
        return read @ W + b

    with torch.inference_mode():
        cache = model.run_with_cache(random_tokens(1), lambda name: True)[1]
        for layer in range(model.cfg.n_layers):
            for head in range(model.cfg.n_heads):
                steps = _steps(model, cache, layer, head)
                expected = {
                    "masked": cache["attn_scores", layer][0, head, QUERY],
                    "weights": cache["pattern", layer][0, head, QUERY],
                    "z": cache["z", layer][0, QUERY, head],
                    "output": cache["result", layer][0, QUERY, head],
                    "dots": steps.scores.values * attention_scale(model.cfg, layer),
                    "q": projected(layer, head, "Q", steps.read.values[QUERY]),
                    "k": projected(layer, head, "K", steps.read.values),
                    "v": projected(layer, head, "V", steps.read.values),
                }
                for name, values in expected.items():
                    torch.testing.assert_close(getattr(steps, name).values, values, rtol=RTOL, atol=ATOL, msg=name)
                # Shares of a sum: float32's rounding.
                torch.testing.assert_close(
                    steps.exponentials.values / steps.total.values, steps.weights.values, rtol=1e-6, atol=0
                )


def test_normalisation_is_that_of_the_hooks() -> None:
    model = random_model()
    with torch.inference_mode():
        cache = model.run_with_cache(random_tokens(1))[1]
        norm, stream = _norm(model, 1), cache["resid_pre", 1][0]
        assert norm is not None
        step = normalize(stream, norm)
        theirs = torch.nn.functional.layer_norm(stream, (model.cfg.d_model,), norm.w, norm.b, norm.eps)
    torch.testing.assert_close(step.sd.values, cache["scale", 1, "ln1"][0, :, 0], rtol=RTOL, atol=ATOL)
    torch.testing.assert_close(step.values.values, theirs, rtol=RTOL, atol=ATOL)


def test_weights_are_transformers_own(tmp_path: Path) -> None:
    theirs = random_gpt2()
    theirs.save_pretrained(tmp_path)
    model = load(tmp_path)
    tokens = random_tokens(1)
    with torch.inference_mode():
        attentions = theirs(tokens, output_attentions=True).attentions
        cache = model.run_with_cache(tokens)[1]
        for layer in range(model.cfg.n_layers):
            for head in range(model.cfg.n_heads):
                weights = _steps(model, cache, layer, head).weights.values
                torch.testing.assert_close(weights, attentions[layer][0, head, QUERY], rtol=RTOL, atol=ATOL)


def test_two_keys_by_hand() -> None:
    """q · k of 2 and 0, halved to 1 and 0: weights e / (1 + e) and 1 / (1 + e); a third key is masked."""
    steps = head_steps(
        torch.zeros(3, 2),
        None,
        q=torch.tensor([1.0, 1.0]),
        k=torch.tensor([[2.0, 0.0], [1.0, -1.0], [9.0, 9.0]]),
        v=torch.tensor([[1.0], [0.0], [5.0]]),
        W_O=torch.tensor([[1.0, -2.0]]),
        mask=torch.tensor([True, True, False]),
        attn_scale=2.0,
    )
    share = math.e / (1 + math.e)
    assert steps.dots.values.tolist() == [2, 0, 18]
    assert steps.scores.values.tolist() == [1, 0, 9]
    assert steps.masked.values.tolist() == [1, 0, -math.inf]
    assert steps.largest.values == 1
    assert steps.weights.values.tolist() == pytest.approx([share, 1 - share, 0])
    assert steps.output.values.tolist() == pytest.approx([share, -2 * share])
    assert steps.read is steps.stream


def test_terms_are_the_largest_products_and_the_rest() -> None:
    sum_terms = terms(torch.tensor([1.0, -2.0, 0.5, 3.0]), torch.tensor([1.0, 4.0, 2.0, 1.0]), 2)
    assert sum_terms.largest == ((1, -2.0, 4.0), (3, 3.0, 1.0))
    assert (sum_terms.n_rest, sum_terms.rest, sum_terms.total) == (2, 2.0, -3.0)


def test_terms_of_a_short_sum_leave_no_rest() -> None:
    sum_terms = terms(torch.tensor([2.0]), torch.tensor([3.0]), 3)
    assert (sum_terms.largest, sum_terms.n_rest, sum_terms.rest) == (((0, 2.0, 3.0),), 0, 0.0)
