"""Headlight's library."""

from contextlib import nullcontext
from functools import lru_cache
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from headlight.model import load, reuse_freed_memory
from headlight.model.checkpoints import tensors
from headlight.model.compute import affine
from headlight.model.decoding import greedy
from headlight.model.lens.logit_lens import logit_lens
from headlight.model.nn.hooks import Tap
from headlight.model.patching import LogitDifference, Patching, patching_map
from tests.bench.prompt import head, prompt

TARGET, DISTRACTOR = 4, 2


class Peer:
    """What a user of `model` calls."""

    def __init__(self, device: str) -> None:
        self.device = device
        reuse_freed_memory()

    def version(self) -> str:
        return f"Headlight with torch {torch.__version__}"

    def load(self, folder: str, check: bool = True) -> None:
        """Open the checkpoint; without the check that no weight is NaN or infinite only to know what that costs."""
        with nullcontext() if check else patch.object(tensors, "_finite", return_value=True):
            self.model = load(folder).to(self.device)

    def prompt(self, n_tokens: int, n_prompts: int = 1) -> Tensor:
        return prompt(n_tokens, self.model.cfg.d_vocab, self.device, n_prompts)

    def answer(self, n_tokens: int) -> list[float]:
        return head(self.model(self.prompt(n_tokens)))

    def forward(self, n_tokens: int) -> Tensor:
        return self.model(self.prompt(n_tokens))

    def cached(self, n_tokens: int, n_prompts: int = 1, n_layers: int | None = None) -> Any:
        return self.model.run_with_cache(self.prompt(n_tokens, n_prompts), stop_at_layer=n_layers)

    def cached_and_read(self, n_tokens: int) -> Any:
        """The same, and then a look at every activation, so that those computed when first read are there too."""
        _, cache = self.cached(n_tokens)
        return tuple(cache.values())

    def generate(self, n_tokens: int, n_new: int) -> list[int]:
        return greedy(self.model, self.prompt(n_tokens), max_new_tokens=n_new)[0].tokens.tolist()

    @lru_cache(maxsize=1)  # noqa: B019 (one peer a process)
    def streams(self, n_tokens: int) -> Tensor:
        """The residual stream before the first layer and after each, which the lens reads."""
        _, cache = self.model.run_with_cache(self.prompt(n_tokens), lambda name: name.endswith(("_pre", "_post")))
        names = ["blocks.0.hook_resid_pre"]
        names += [f"blocks.{layer}.hook_resid_post" for layer in range(self.model.cfg.n_layers)]
        return torch.stack([cache[name][0] for name in names])

    def lens(self, n_tokens: int) -> Any:
        unembed = self.model.unembed
        return logit_lens(self.streams(n_tokens=n_tokens), self._normalize, unembed.W_U, unembed.b_U, multiply=affine)

    def _normalize(self, rows: Tensor) -> Tensor:
        return self.model.ln_final(rows[None], Tap())[0]

    def patching(self, n_tokens: int) -> Any:
        a, b = self.prompt(n_tokens, n_prompts=2).split(1)
        question = LogitDifference(target=TARGET, distractor=DISTRACTOR, position=n_tokens - 1)
        return patching_map(Patching(self.model, a, b, question), "z")
