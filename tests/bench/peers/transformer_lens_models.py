"""What both of TransformerLens's models are timed at: they take the same calls."""

from importlib.metadata import version
from typing import Any

import torch
from torch import Tensor

from tests.bench.prompt import head, prompt

TARGET, DISTRACTOR = 4, 2


class TransformerLensPeer:
    """A model of TransformerLens; a subclass opens it."""

    model: Any

    def __init__(self, device: str) -> None:
        self.device = device

    def version(self) -> str:
        return f"TransformerLens {version('transformer-lens')} with torch {torch.__version__}"

    def prompt(self, n_tokens: int, n_prompts: int = 1) -> Tensor:
        return prompt(n_tokens, self.model.cfg.d_vocab, self.device, n_prompts)

    def answer(self, n_tokens: int) -> list[float]:
        return head(self.model(self.prompt(n_tokens)))

    def cached(self, n_tokens: int) -> Any:
        return self.model.run_with_cache(self.prompt(n_tokens))

    def patching(self, n_tokens: int) -> Any:
        from transformer_lens.patching import get_act_patch_attn_head_out_all_pos

        a, b = self.prompt(n_tokens, n_prompts=2).split(1)
        _, there = self.model.run_with_cache(b)
        return get_act_patch_attn_head_out_all_pos(self.model, a, there, difference)


def difference(logits: Tensor) -> Tensor:
    """The target's logit over the distractor's."""
    return logits[0, -1, TARGET] - logits[0, -1, DISTRACTOR]
