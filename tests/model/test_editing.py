"""Runs with edits, against hook functions written by hand, TransformerLens on the same weights, and runs of B."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
import tokenizers
import torch
from torch import Tensor

from model import Tokenizer, Transformer
from model.cone import cone
from model.editing import mean_z, run_with_edits, tap
from model.edits import AblateHeads, Align, CutEdge, Drop, Edit, FreezePatterns, Patch, Steer
from model.errors import HookError, InputError
from tests.model.oracles import ATOL, RTOL, lens_twin, random_model

A, B = "a b c d e f g", "h i c j e k g"
IDS = {word: number for number, word in enumerate([*"abcdefghijklm", "<s>"])}


def words(model: Transformer) -> Transformer:
    """With a tokenizer to which each letter is a word, and that can begin a text."""
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(IDS, unk_token="m"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    model.tokenizer = Tokenizer(backend, bos="<s>")
    return model


@pytest.fixture
def model() -> Transformer:
    return words(random_model())


def edited(model: Transformer, *edits: Edit, prompt: str = A, bos: bool = False) -> Tensor:
    with torch.inference_mode():
        return run_with_edits(model, model.to_tokens(prompt, prepend_bos=bos), edits, prepend_bos=bos)[0]


def clean(model: Transformer, prompt: str = A, bos: bool = False) -> Tensor:
    with torch.inference_mode():
        return model(model.to_tokens(prompt, prepend_bos=bos))


def by_hand(model: Transformer, hooks: Sequence[tuple[str, Any]], prompt: str = A) -> Tensor:
    with torch.inference_mode():
        return model.run_with_hooks(model.to_tokens(prompt), hooks)


HEADS = ((0, 1), (1, 2))
Z = "blocks.{}.attn.hook_z"


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


def test_other_prompts_begin_as_the_edited_one_does(model: Transformer) -> None:
    assert torch.equal(edited(model, Patch("hook_embed", B), bos=True), clean(model, B, bos=True))


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


LONGER = "h a b i j c d e f g"  # in A's order, with others before and between: A's 2 to 6 are its 5 to 9
MATCHED = {0: 1, 1: 2, 2: 5, 3: 6, 4: 7, 5: 8, 6: 9}
SHORTER = "a c g"


@pytest.mark.parametrize(
    ("prompt", "align", "matches"),
    [
        (LONGER, "tokens", MATCHED),
        (LONGER, "position", {position: position for position in range(7)}),
        (SHORTER, "tokens", {0: 0, 2: 1, 6: 2}),
        (SHORTER, "position", {0: 0, 1: 1, 2: 2}),
    ],
)
def test_a_prompt_of_another_length_gives_what_is_matched(
    model: Transformer, prompt: str, align: Align, matches: dict[int, int]
) -> None:
    with torch.inference_mode():
        _, there = model.run_with_cache(model.to_tokens(prompt))

    def put(activation: Tensor, hook: Any, heads: list[int] | None = None) -> None:
        for here, other in matches.items():
            for head in heads or range(3):
                activation[0, here, head] = there[hook.name][0, other, head]

    def put_stream(activation: Tensor, hook: Any) -> None:
        for here, other in matches.items():
            if here in (0, 2):
                activation[0, here] = there[hook.name][0, other]

    resampled = edited(model, AblateHeads(HEADS, "resample", prompt, (), align))
    hooks = [(Z.format(layer), partial(put, heads=[head])) for layer, head in HEADS]
    assert torch.equal(resampled, by_hand(model, hooks))
    name = "blocks.1.attn.hook_q"
    assert torch.equal(edited(model, Patch(name, prompt, align=align)), by_hand(model, [(name, put)]))
    name = "blocks.0.hook_resid_post"
    found = edited(model, Patch(name, prompt, (0, 2), align=align))
    assert torch.equal(found, by_hand(model, [(name, put_stream)]))


OVER = ("a b c", "d", "h i j k l")


@pytest.mark.parametrize("bos", [False, True])
def test_a_mean_over_other_prompts_counts_every_token_once(model: Transformer, bos: bool) -> None:
    with torch.inference_mode():
        runs = [model.run_with_cache(model.to_tokens(text, prepend_bos=bos))[1] for text in OVER]
        means = {layer: torch.cat([cache["z", layer][0] for cache in runs]).mean(0) for layer in (0, 1)}
        found = mean_z(model, OVER, bos)
    for layer, expected in means.items():
        torch.testing.assert_close(found[layer].float(), expected, rtol=RTOL, atol=ATOL)

    def put(z: Tensor, hook: Any, head: int) -> None:
        z[:, :, head] = means[hook.layer()][head]

    with torch.inference_mode():
        hooks = [(Z.format(layer), partial(put, head=head)) for layer, head in HEADS]
        expected = model.run_with_hooks(model.to_tokens(A, prepend_bos=bos), hooks)
    edit = AblateHeads(HEADS, "mean", over=OVER)
    torch.testing.assert_close(edited(model, edit, bos=bos), expected, rtol=RTOL, atol=ATOL)


def test_a_mean_that_is_known_is_not_taken_again(model: Transformer) -> None:
    tokens, zeros = model.to_tokens(A), torch.zeros(2, 3, 5)
    with torch.inference_mode():
        known = tap(model, tokens, [AblateHeads(HEADS, "mean", over=OVER)], means={OVER: zeros})
        assert torch.equal(model(tokens, tap=known), edited(model, AblateHeads(HEADS)))


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


def test_a_tap_says_how_much_it_holds_of_other_runs(model: Transformer) -> None:
    tokens = model.to_tokens(A)
    with torch.inference_mode():
        assert tap(model, tokens, [AblateHeads(HEADS)]).nbytes == 0
        assert tap(model, tokens, [Patch("hook_embed", B)]).nbytes == 4 * tokens.shape[1] * model.cfg.d_model


REACHING: list[Edit] = [
    AblateHeads(((1, 2),)),
    CutEdge((0, 1), 4, 2),
    CutEdge((1, 1), 4, 2),
    Steer(1, "a b", "c d", positions=(3,)),
    Steer(0, "a b", "c d", positions=(5, 2)),
    Drop(1, "MLP"),
    *(Patch(name, B, (3,)) for name in random_model().hook_names if not name.startswith("ln_final")),
]


@pytest.mark.parametrize("edit", REACHING, ids=repr)
@pytest.mark.parametrize("direction", ["causal", "bidirectional"])
def test_an_edit_reaches_its_cone_and_no_further(edit: Edit, direction: str) -> None:
    """Random weights: what can change does change, and what cannot does not in any bit."""
    model = words(random_model(n_layers=3, attention_dir=direction))
    other = "h i j k l m h"  # another token than A's at every position
    edit = Patch(edit.name, other, edit.positions) if isinstance(edit, Patch) else edit
    tokens, n_layers = model.to_tokens(A), model.cfg.n_layers
    names = ["blocks.0.hook_resid_pre", *(f"blocks.{layer}.hook_resid_post" for layer in range(n_layers))]
    with torch.inference_mode():
        reference = [Patch(edit.name, A)] if isinstance(edit, Patch) and edit.name.endswith("result") else []
        _, before = run_with_edits(model, tokens, reference, names)
        _, after = run_with_edits(model, tokens, [edit], names)
    changed = torch.stack([(before[name] != after[name]).any(-1)[0] for name in names])
    same_everywhere = isinstance(edit, Patch) and edit.name == "hook_pos_embed"  # positions are those of every prompt
    assert torch.equal(changed, torch.zeros_like(changed) if same_everywhere else cone([edit], model.cfg, 7))


def test_cones_of_several_edits_add_up_and_freezing_has_none() -> None:
    cfg, edits = random_model().cfg, [CutEdge((0, 1), 4, 2), Drop(1)]
    both = cone(edits, cfg, 7)
    assert torch.equal(both, cone(edits[:1], cfg, 7) | cone(edits[1:], cfg, 7))
    assert not cone([FreezePatterns()], cfg, 7).any()


WRITTEN = {
    "zero": AblateHeads(((0, 1),)),
    "mean": AblateHeads(((0, 1), (1, 0)), "mean"),
    "mean over others": AblateHeads(((0, 1),), "mean", over=("c d e", "f")),
    "resample": AblateHeads(((0, 1),), "resample", B, align="position"),
    "cut": CutEdge((1, 0), 5, 2, True),
    "freeze": FreezePatterns((1,)),
    "patch": Patch("blocks.1.hook_resid_pre", B, align="position"),
    "patterns": Patch("blocks.1.attn.hook_pattern", B, align="position"),
    "steer": Steer(1, "a b", "c", 2.0),
    "drop": Drop(0, "MLP"),
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_what_is_written_behind_a_prompt_changes_nothing_before_it(model: Transformer, kind: str) -> None:
    """A mean over all positions would, and a prompt to patch from would have to be as long."""
    edits = [Drop(0, "attention"), WRITTEN[kind]] if kind == "freeze" else [WRITTEN[kind]]
    prompt = model.to_tokens(A)
    longer = torch.cat([prompt, model.to_tokens("c a b")], 1)
    with torch.inference_mode():
        alone, _ = run_with_edits(model, prompt, edits)
        behind, _ = run_with_edits(model, longer, edits, n_prompt=prompt.shape[1])
        clean_behind = model(longer)
    torch.testing.assert_close(behind[:, : prompt.shape[1]], alone, rtol=RTOL, atol=ATOL)
    assert (behind - clean_behind).abs().max() > 1e-3
