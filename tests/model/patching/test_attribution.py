"""Estimates from gradients, against patching itself where that is linear, and against finite differences."""

import math

import pytest
import torch

from headlight.model.nn.cache import ActivationCache
from headlight.model.patching import Kind, Variant, attribution_map, patching_map, rank_correlation
from tests.model.oracles import VARIANTS
from tests.model.patching.cases import TOLERANCE, case

pytestmark = pytest.mark.usefixtures("unchecked")  # of the batch, which grows on the way

STEP = 1e-6
KINDS: tuple[Kind, ...] = ("resid_pre", "attn_out", "mlp_out", "z", "z_by_position")


@pytest.mark.parametrize("into", ["A", "B"])
def test_it_is_exact_for_a_linear_model(into: str) -> None:
    """Without normalisation and MLPs, and with patterns that no query changes, everything is linear."""
    each = case("attention only")
    cfg = each.model.cfg
    object.__setattr__(cfg, "normalization_type", None)
    linear = type(each.model)(cfg).double().requires_grad_(False)
    state = {name: value for name, value in each.model.state_dict().items() if name in linear.state_dict()}
    linear.load_state_dict(state)
    for block in linear.blocks:
        for name in ("W_Q", "b_Q"):
            block.get_parameter(f"attn.{name}").zero_()
    patching = type(each)(linear, each.a, each.b).patching(into=into)
    for kind in ("resid_pre", "attn_out", "z", "z_by_position"):
        estimate, exact = (compute(patching, kind, layer=1) for compute in (attribution_map, patching_map))  # type: ignore[operator]
        torch.testing.assert_close(estimate.values, exact.values, **TOLERANCE)


@pytest.mark.parametrize("variant", VARIANTS)
def test_it_is_the_slope_of_a_small_patch(variant: str) -> None:
    """Of a patch a millionth as large, whose second-order part is a millionth of its first."""
    each = case(variant)
    patching = each.patching()
    kinds = [kind for kind in KINDS if kind != "mlp_out" or not each.model.cfg.attn_only]
    estimates = {kind: attribution_map(patching, kind, layer=1).values for kind in kinds}
    near = {name: kept + STEP * (patching.other[name] - kept) for name, kept in patching.base.items()}
    patching.other = ActivationCache(near, each.model.cfg.n_layers)
    for kind, estimate in estimates.items():
        slopes = patching_map(patching, kind, layer=1).values / STEP
        torch.testing.assert_close(slopes, estimate, rtol=1e-3, atol=1e-3)  # the step's size times the curvature


def test_it_works_inside_inference_mode_and_leaves_no_gradients() -> None:
    each = case()
    with torch.inference_mode():
        inside = attribution_map(each.patching(), "z").values
    torch.testing.assert_close(inside.clone(), attribution_map(each.patching(), "z").values, rtol=0, atol=0)
    assert all(parameter.grad is None for parameter in each.model.parameters())


def test_a_model_in_training_has_the_same_estimates() -> None:
    each = case()
    frozen = attribution_map(each.patching(), "z").values
    each.model.requires_grad_(True)
    torch.testing.assert_close(attribution_map(each.patching(), "z").values, frozen, rtol=0, atol=0)
    assert all(parameter.grad is None for parameter in each.model.parameters())


def test_the_estimate_of_the_whole_stream_is_that_of_its_positions() -> None:
    patching = case().patching()
    by_position = attribution_map(patching, "resid_pre").values
    by_heads = attribution_map(patching, "z_by_position", layer=1).values.sum()
    whole = attribution_map(patching, "attn_out").values[1].sum()
    torch.testing.assert_close(by_heads, whole, **TOLERANCE)
    assert by_position.shape == (3, 7)


def test_ranks_by_hand() -> None:
    assert rank_correlation(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([10.0, 20.0, 90.0])) == pytest.approx(1)
    assert rank_correlation(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([9.0, 2.0, 1.0])) == pytest.approx(-1)
    # Spearman's own formula, 1 - 6 sum(d^2) / (n (n^2 - 1)), of ranks 1 2 3 4 5 and 2 1 4 3 5
    swapped = rank_correlation(torch.arange(5.0), torch.tensor([2.0, 1.0, 4.0, 3.0, 5.0]))
    assert swapped == pytest.approx(1 - 6 * 4 / (5 * 24))
    # ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4: 4.5 over the root of 4.5 times 5
    tied = rank_correlation(torch.tensor([1.0, 2.0, 2.0, 3.0]), torch.arange(4.0))
    assert tied == pytest.approx(4.5 / math.sqrt(4.5 * 5))
    assert math.isnan(rank_correlation(torch.ones(3), torch.arange(3.0)))


def test_patching_all_heads_estimates_as_attention_does() -> None:
    patching = case().patching()
    heads = attribution_map(patching, "z").values.sum(-1)
    attention = attribution_map(patching, "attn_out").values.sum(-1)
    torch.testing.assert_close(heads, attention, **TOLERANCE)
    assert patching.differences([Variant("z", 0)]).shape == (1,)
