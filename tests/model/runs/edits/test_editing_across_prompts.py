"""Edits that take from prompts of other lengths, or from several, and edits of a prompt behind which is written."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from headlight.model import Transformer
from headlight.model.measure.alignment import Align
from headlight.model.runs.edits import AblateHeads, CutEdge, Drop, FreezePatterns, Patch, Steer
from headlight.model.runs.edits.editing import run_with_edits, tap
from headlight.model.runs.edits.means import mean_z
from tests.model.oracles import ATOL, RTOL, random_model
from tests.model.runs.edits.lettered import HEADS, A, B, Z, by_hand, clean, edited, words


@pytest.fixture
def model() -> Transformer:
    return words(random_model())


def test_other_prompts_begin_as_the_edited_one_does(model: Transformer) -> None:
    assert torch.equal(edited(model, Patch("hook_embed", B), bos=True), clean(model, B, bos=True))


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
    logits = edited(model, Patch(name, prompt, (0, 2), align=align))
    assert torch.equal(logits, by_hand(model, [(name, put_stream)]))


OVER = ("a b c", "d", "h i j k l")


@pytest.mark.parametrize("bos", [False, True])
def test_a_mean_over_other_prompts_counts_every_token_once(model: Transformer, bos: bool) -> None:
    with torch.inference_mode():
        runs = [model.run_with_cache(model.to_tokens(text, prepend_bos=bos))[1] for text in OVER]
        means = {layer: torch.cat([cache["z", layer][0] for cache in runs]).mean(0) for layer in (0, 1)}
        z_means = mean_z(model, OVER, bos)
    for layer, expected in means.items():
        torch.testing.assert_close(z_means[layer].float(), expected, rtol=RTOL, atol=ATOL)

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


def test_a_tap_says_how_much_it_holds_of_other_runs(model: Transformer) -> None:
    tokens = model.to_tokens(A)
    with torch.inference_mode():
        assert tap(model, tokens, [AblateHeads(HEADS)]).nbytes == 0
        assert tap(model, tokens, [Patch("hook_embed", B)]).nbytes == 4 * tokens.shape[1] * model.cfg.d_model


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
