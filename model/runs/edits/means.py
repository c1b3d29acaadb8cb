"""Every head's z over the positions of prompts: sums, and the mean for mean ablation."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.nn.hooks import Collect
from headlight.model.nn.transformer import Transformer
from headlight.model.text.chat import Begin

Tokens = Int[Tensor, "1 pos"]
Heads = Float[Tensor, "layer head d_value"]


def sum_z(model: Transformer, tokens: Tokens) -> Heads:
    """Every head's z, summed over a prompt's positions in float64."""
    names = [z_name(layer) for layer in range(model.cfg.n_layers)]
    keep = Collect(names, lambda z: z[0].double().sum(0))
    model(tokens, tap=keep, stop_at_layer=model.cfg.n_layers)
    return torch.stack([keep.kept[name] for name in names])


def mean_z(model: Transformer, prompts: Sequence[str], prepend_bos: Begin = False) -> Heads:
    """Mean of every head's output (z) over all positions of these prompts, each token counted once.

    Raises:
        InputError: a prompt that the model does not take.
    """
    inputs = [model.to_tokens(prompt, prepend_bos=prepend_bos) for prompt in prompts]
    return torch.stack([sum_z(model, tokens) for tokens in inputs]).sum(0) / sum(tokens.shape[1] for tokens in inputs)


def z_name(layer: int) -> str:
    """Full name of the heads' outputs of a layer."""
    return f"blocks.{layer}.attn.hook_z"
