"""Runs with edits, against hook functions written by hand, TransformerLens on the same weights, and runs of B."""

from typing import Any

import pytest
import torch
from torch import Tensor

from headlight.model import Transformer
from headlight.model.base.errors import HookError, InputError
from headlight.model.runs.edits import AblateHeads, CutEdge, Drop, Edit, FreezePatterns, Patch, Steer
from headlight.model.runs.edits.editing import run_with_edits
from tests.model.lens.lens_twin import lens_twin
from tests.model.oracles import ATOL, RTOL, random_model
from tests.model.runs.edits.lettered import HEADS, A, B, Z, by_hand, clean, edited, words


@pytest.fixture
def model() -> Transformer:
    return words(random_model())


def test_no_edit_changes_nothing(model: Transformer) -> None:
    assert torch.equal(edited(model), clean(model))


def test_freezing_alone_changes_nothing(model: Transformer) -> None:
    assert torch.equal(edited(model, FreezePatterns()), clean(model))


def test_scaling_a_direction_by_one_changes_nothing(model: Transformer) -> None:
    assert torch.equal(edited(model, Steer(1, "a b", "c d", 1.0, mode="scale")), clean(model))


def test_patching_from_the_same_prompt_changes_nothing(model: Transformer) -> None:
    for name in model.hook_names:
        expected = clean(model)
        if name.endswith("hook_result"):  # the heads are then summed in another order
            torch.testing.assert_close(edited(model, Patch(name, A)), expected, rtol=RTOL, atol=ATOL)
        else:
            assert torch.equal(edited(model, Patch(name, A)), expected), name


def test_patching_everything_reproduces_b_exactly(model: Transformer) -> None:
    everything = [Patch(name, B) for name in model.hook_names if not name.endswith("hook_result")]
    assert torch.equal(edited(model, *everything), clean(model, B))
    assert torch.equal(edited(model, Patch("hook_embed", B)), clean(model, B))
    for layer in range(model.cfg.n_layers):
        assert torch.equal(edited(model, Patch(f"blocks.{layer}.hook_resid_pre", B)), clean(model, B))
    assert torch.equal(edited(model, Patch("blocks.1.hook_resid_post", B)), clean(model, B))


def test_ablated_heads_are_those_ablated_by_hand(model: Transformer) -> None:
    def zero(z: Tensor, hook: Any) -> None:
        for layer, head in HEADS:
            if layer == hook.layer():
                z[:, :, head] = 0

    def mean(z: Tensor, hook: Any) -> None:
        for layer, head in HEADS:
            if layer == hook.layer():
                z[0, :, head] = z[0, :, head].sum(0) / z.shape[1]

    names = [Z.format(0), Z.format(1)]
    assert torch.equal(edited(model, AblateHeads(HEADS)), by_hand(model, [(names, zero)]))  # type: ignore[list-item]
    # A sum divided instead of a mean: float32's rounding.
    expected = by_hand(model, [(names, mean)])  # type: ignore[list-item]
    torch.testing.assert_close(edited(model, AblateHeads(HEADS, "mean")), expected, rtol=RTOL, atol=ATOL)


def test_resampled_heads_give_what_they_give_on_the_other_prompt(model: Transformer) -> None:
    with torch.inference_mode():
        _, there = model.run_with_cache(model.to_tokens(B))

    def resample(z: Tensor, hook: Any) -> None:
        for layer, head in HEADS:
            if layer == hook.layer():
                z[:, :, head] = there["z", layer][:, :, head]

    expected = by_hand(model, [(Z.format(layer), resample) for layer in (0, 1)])
    assert torch.equal(edited(model, AblateHeads(HEADS, "resample", B)), expected)


def test_a_cut_edge_is_a_weight_set_to_zero(model: Transformer) -> None:
    def cut(pattern: Tensor, hook: Any) -> None:
        pattern[0, 2, 5, 3] = 0

    def renormalised(pattern: Tensor, hook: Any) -> None:
        cut(pattern, hook)
        pattern[0, 2, 5] = pattern[0, 2, 5] / pattern[0, 2, 5].sum()

    name = "blocks.0.attn.hook_pattern"
    assert torch.equal(edited(model, CutEdge((0, 2), 5, 3)), by_hand(model, [(name, cut)]))
    expected = by_hand(model, [(name, renormalised)])
    torch.testing.assert_close(edited(model, CutEdge((0, 2), 5, 3, True)), expected, rtol=RTOL, atol=ATOL)


def test_frozen_patterns_stay_while_the_values_change(model: Transformer) -> None:
    with torch.inference_mode():
        tokens = model.to_tokens(A)
        _, own = model.run_with_cache(tokens)
        _, cache = run_with_edits(model, tokens, [Drop(0, "MLP"), FreezePatterns((1,))])
        _, thawed = run_with_edits(model, tokens, [Drop(0, "MLP")])
    assert torch.equal(cache["pattern", 1], own["pattern", 1])
    assert not torch.equal(thawed["pattern", 1], own["pattern", 1])
    assert torch.equal(cache["v", 1], thawed["v", 1])
    assert not torch.equal(cache["v", 1], own["v", 1])


def test_only_the_chosen_positions_and_head_are_patched(model: Transformer) -> None:
    with torch.inference_mode():
        tokens = model.to_tokens(A)
        _, own = model.run_with_cache(tokens)
        _, there = model.run_with_cache(model.to_tokens(B))
        for name in (Z.format(1), "blocks.1.attn.hook_pattern", "blocks.0.hook_mlp_out"):
            head = None if name.endswith("mlp_out") else 1
            _, cache = run_with_edits(model, tokens, [Patch(name, B, (1, 4), head)])
            expected = own[name].clone()
            at = (..., [1, 4], slice(None)) if head is None else (0, 1, [1, 4]) if "pattern" in name else (0, [1, 4], 1)
            expected[at] = there[name][at]
            assert torch.equal(cache[name], expected), name


def test_steering_adds_the_difference_of_two_last_positions(model: Transformer) -> None:
    with torch.inference_mode():
        ends = [model.run_with_cache(model.to_tokens(text))[1]["resid_pre", 1][0, -1] for text in ("a b", "c d e")]
    direction = ends[0] - ends[1]

    def add(resid: Tensor, hook: Any) -> None:
        resid[:, [2, 6]] += 1.5 * direction

    def without(resid: Tensor, hook: Any) -> Tensor:
        return resid - (resid @ direction)[..., None] * direction / direction.dot(direction)

    name = "blocks.1.hook_resid_pre"
    assert torch.equal(edited(model, Steer(1, "a b", "c d e", 1.5, (2, 6))), by_hand(model, [(name, add)]))
    projected = edited(model, Steer(1, "a b", "c d e", 0.0, mode="scale"))
    torch.testing.assert_close(projected, by_hand(model, [(name, without)]), rtol=RTOL, atol=ATOL)


def test_a_dropped_layer_is_one_that_is_not_there(model: Transformer) -> None:
    whole = clean(model)
    first, second = model.blocks
    model.blocks = torch.nn.ModuleList([second])
    expected = clean(model)
    model.blocks = torch.nn.ModuleList([first, second])
    assert torch.equal(edited(model, Drop(0)), expected)
    assert torch.equal(edited(model, Drop(0, "attention"), Drop(0, "MLP")), expected)
    assert not torch.equal(whole, expected)


def test_edits_act_in_their_order(model: Transformer) -> None:
    name = "blocks.1.hook_resid_pre"
    steer, patch = Steer(1, "a", "b"), Patch(name, B)
    assert torch.equal(edited(model, steer, patch), clean(model, B))
    assert not torch.equal(edited(model, patch, steer), clean(model, B))


def test_heads_and_streams_are_edited_as_in_transformer_lens(model: Transformer) -> None:
    twin, tokens = lens_twin(model), model.to_tokens(A)
    with torch.inference_mode():
        _, there = twin.run_with_cache(model.to_tokens(B))

    def zero(z: Tensor, hook: Any) -> Tensor:
        z[:, :, 1] = 0
        return z

    def patch(resid: Tensor, hook: Any) -> Tensor:
        resid[:, 4] = there[hook.name][:, 4]
        return resid

    cases: list[tuple[Edit, str, Any]] = [
        (AblateHeads(((0, 1),)), Z.format(0), zero),
        *(
            (Patch(f"blocks.{layer}.hook_{place}", B, (4,)), f"blocks.{layer}.hook_{place}", patch)
            for layer in (0, 1)
            for place in ("resid_pre", "resid_mid", "resid_post")
        ),
        (Patch("blocks.1.hook_mlp_out", B, (4,)), "blocks.1.hook_mlp_out", patch),
    ]
    for edit, name, hook in cases:
        with torch.inference_mode():
            expected = twin.run_with_hooks(tokens, fwd_hooks=[(name, hook)])
        torch.testing.assert_close(edited(model, edit), expected, rtol=RTOL, atol=ATOL)


WRONG: list[tuple[Edit, type[Exception], str]] = [
    (AblateHeads(((4, 0),)), InputError, "Edit 2: There is no head L4H0"),
    (Patch("hook_embde", B), HookError, "Edit 2: .*hook_embed"),
    (Patch("hook_embed", B, (), 1), InputError, "Edit 2: hook_embed is no head's own activation"),
    (Patch("hook_embed", "h i"), InputError, "Edit 2: The prompt 'h i' has 2 tokens and the edited one 7, and none"),
    (AblateHeads(HEADS, "resample", "h i"), InputError, "Edit 2: The prompt 'h i' has 2 tokens"),
    (Patch("hook_embed", "a b", (2, 4)), InputError, "Edit 2: The other prompt has no match for position 2, 4"),
    (Patch("blocks.0.attn.hook_pattern", "a b"), InputError, "Edit 2: .* a column for each of them. Patch queries"),
    (Steer(0, "a", "a", 0.0, mode="scale"), InputError, "Edit 2: The two prompts give the same stream"),
]


@pytest.mark.parametrize(("edit", "kind", "said"), WRONG)
def test_what_is_wrong_is_said_of_the_edit(model: Transformer, edit: Edit, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        edited(model, Drop(0), edit)
