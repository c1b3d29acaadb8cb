"""Random repeats, the edits that they can have, and the loss with heads ablated, against passes with hooks."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from headlight.model import Transformer, load
from headlight.model.roles.ablating import Losses, ablation_losses, effect_differences
from headlight.model.roles.sequences import edits_anywhere, max_repeat_length, random_repeat
from headlight.model.runs.edits import AblateHeads, CutEdge, Drop, Steer

HALF = 12


@pytest.fixture(scope="module")
def model() -> Transformer:
    return load("mini")


def test_a_repeat_is_different_tokens_twice_and_its_seeds_tell_it_from_others(model: Transformer) -> None:
    repeat = random_repeat(model, True, seed=3, number=1, repeat_length=HALF)
    assert model.tokenizer is not None
    assert repeat.tokens[0] == model.tokenizer.bos_token_id
    first, second = repeat.tokens[repeat.start :].split(HALF)
    assert first.tolist() == second.tolist()
    assert len(set(first.tolist())) == HALF
    assert random_repeat(model, True, 3, 1, HALF).tokens.tolist() == repeat.tokens.tolist()
    assert random_repeat(model, True, 3, 2, HALF).tokens.tolist() != repeat.tokens.tolist()
    assert (
        len(random_repeat(model, True, 0, 0, 10**6).tokens) == 1 + 2 * max_repeat_length(model, True) <= model.cfg.n_ctx
    )


def test_edits_that_name_a_place_or_another_prompts_length_are_of_one_prompt_alone() -> None:
    anywhere = (AblateHeads(((0, 1),), "mean"), Drop(1), Steer(1, "one", "two", 2.0))
    elsewhere = (
        AblateHeads(((0, 1),), "resample", "one two"),
        CutEdge((0, 1), 3, 2),
        Steer(1, "one", "two", 2.0, (3,)),
    )
    assert edits_anywhere((*elsewhere, *anywhere)) == anywhere


def test_losses_are_those_of_passes_with_a_heads_output_replaced(model: Transformer) -> None:
    repeat, head = random_repeat(model, True, seed=0, number=0, repeat_length=HALF), (1, 2)
    losses = ablation_losses(repeat, [head, (3, 0)])[head]

    def zeroed(z: Tensor, hook: object) -> None:
        z[:, :, head[1]] = 0

    def averaged(z: Tensor, hook: object) -> None:
        z[:, :, head[1]] = z[:, :, head[1]].mean(1, keepdim=True)

    def loss(*hooks: tuple[str, object]) -> float:
        tokens = repeat.tokens[None]
        with torch.inference_mode():
            logits = model.run_with_hooks(tokens, hooks)[0]  # type: ignore[arg-type]
        first = repeat.start + HALF  # the second copy; its first token cannot be foretold
        return float(F.cross_entropy(logits[first:-1], tokens[0, first + 1 :]))

    z = f"blocks.{head[0]}.attn.hook_z"
    assert losses.untouched == pytest.approx(loss(), abs=1e-4)
    assert losses.ablated["zero"] == pytest.approx(loss((z, zeroed)), abs=1e-4)
    assert losses.ablated["mean"] == pytest.approx(loss((z, averaged)), abs=1e-4)


def test_differences_of_effects_are_taken_repeat_by_repeat() -> None:
    a = [Losses(1.0, {"zero": 1.5, "mean": 2.0}), Losses(3.0, {"zero": 3.5, "mean": 3.0})]
    b = [Losses(1.0, {"zero": 2.5, "mean": 2.0}), Losses(2.0, {"zero": 4.5, "mean": 2.0})]
    effects = effect_differences(zip(a, b, strict=True))
    assert float(effects["zero"].mean.values) == pytest.approx((1.0 + 2.0) / 2)
    assert float(effects["mean"].mean.values) == pytest.approx(0.0)
