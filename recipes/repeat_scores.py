"""Accuracy of a model on repeats, and the heads that it depends on."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.nn.hooks import Chain, Collect, HookFunction, HookPoint, NamesFilter
from headlight.model.nn.transformer import Transformer
from headlight.model.roles.head_scores import induction_score, previous_token_score, repeat_accuracy
from headlight.model.runs.edits import Head


@dataclass(frozen=True)
class RepeatScores:
    """Accuracy on the second halves (a share), and every head's two scores (probability)."""

    accuracy: float
    induction: Float[Tensor, "layer head"]
    previous_token: Float[Tensor, "layer head"]


@torch.inference_mode()
def repeat_scores(
    model: Transformer, tokens: Int[Tensor, "batch pos"], fwd_hooks: Sequence[tuple[NamesFilter, HookFunction]] = ()
) -> RepeatScores:
    """Scores on rows made of two equal halves, under these edits."""
    names = [name for name in model.hook_names if name.endswith("hook_pattern")]
    induction, previous_token = Collect(names, induction_score), Collect(names, previous_token_score)
    logits = model(tokens, tap=Chain(model.edit(fwd_hooks), induction, previous_token))
    return RepeatScores(
        accuracy=repeat_accuracy(logits, tokens).mean().item(),
        induction=torch.stack([induction.kept[name] for name in names]),
        previous_token=torch.stack([previous_token.kept[name] for name in names]),
    )


def mean_ablation(heads: Sequence[Head]) -> list[tuple[NamesFilter, HookFunction]]:
    """Hooks that replace what these heads read (z) by its mean over the batch and its positions."""

    def hook_for(head: int) -> HookFunction:
        def ablate(z: Float[Tensor, "batch pos head d_head"], hook: HookPoint) -> None:
            z[:, :, head] = z[:, :, head].mean((0, 1))

        return ablate

    return [(f"blocks.{layer}.attn.hook_z", hook_for(head)) for layer, head in heads]
