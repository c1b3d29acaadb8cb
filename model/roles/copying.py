"""How much each head copies, from the weights alone."""

import torch
from torch import Tensor

from headlight.model.analysis import Measure, ov
from headlight.model.host import HERE, Host
from headlight.model.transformer import Transformer


def copying(model: Transformer, host: Host = HERE) -> Measure:
    """Every head's copying score from the weights alone, both LayerNorms' centring and gain included.

    NaN where the model reads another vocabulary than it writes.
    """
    cfg = model.cfg
    if cfg.d_vocab_out != cfg.d_vocab:
        return Measure("copying score", "share", ("layer", "head"), torch.full((cfg.n_layers, cfg.n_heads), torch.nan))
    weights: dict[str, Tensor] = dict(model.named_parameters())
    plain = torch.ones(cfg.d_model)
    after = weights.get("ln_final.w", plain)
    with host.turn(), torch.inference_mode():
        loop = ov.through_vocabulary(model.unembed.W_U, model.embed.W_E)
        layers = []
        for layer in range(cfg.n_layers):
            W_V, W_O = (weights[f"blocks.{layer}.attn.{name}"] for name in ("W_V", "W_O"))
            if cfg.normalization_type is not None:
                before = weights.get(f"blocks.{layer}.ln1.w", plain)
                W_V, W_O = ov.reading(W_V, before), ov.writing(W_O, after)
            layers.append(ov.copying_scores(W_V, W_O, loop).values)
    return Measure("copying score", "share", ("layer", "head"), torch.stack(layers))
