"""How predictions come about over the layers of a lens: where the best guess changes, and from where on it stays."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor


def changed_guesses(best: Int[Tensor, "layer pos"]) -> Bool[Tensor, "layer pos"]:
    """Where a layer's best token is another than the layer's below; the first layer's always is."""
    changed = torch.ones_like(best, dtype=torch.bool)
    changed[1:] = best[1:] != best[:-1]
    return changed


def settled_layers(best: Int[Tensor, "layer pos"]) -> Int[Tensor, " pos"]:
    """The layer from which on every layer's best token is the last layer's."""
    agrees = (best == best[-1]).int().flip(0)
    return len(best) - agrees.cumprod(0).sum(0)
