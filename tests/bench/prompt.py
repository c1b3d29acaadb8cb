"""The tokens that every implementation is given, and what of its answer is compared."""

import torch
from torch import Tensor

HEAD = 8  # logits that are compared between peers


def prompt(n_tokens: int, d_vocab: int, device: str, n_prompts: int = 1) -> Tensor:
    """The same token ids for every peer, [prompt, pos]."""
    drawn = torch.randint(d_vocab, (n_prompts, n_tokens), generator=torch.Generator().manual_seed(0))
    return drawn.to(device)


def head(logits: Tensor) -> list[float]:
    """The first few logits at the last position."""
    return logits[0, -1, :HEAD].float().tolist()
