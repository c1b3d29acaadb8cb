"""Copying score of each head, from the weights alone."""

import torch

from headlight.model.measure import Measure, ov
from headlight.model.nn.layers.parameters import widened
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.host import HERE, Host
from headlight.model.runs.linear import embedded_tokens, norm_before, norm_of
from headlight.model.weights.head_circuit import value_and_output


def copying(model: Transformer, host: Host = HERE) -> Measure:
    """Every head's copying score from the weights alone, the centring and gain of the norms on the way included.

    NaN where the model reads another vocabulary than it writes, and where its logits are not linear in the stream.
    """
    cfg = model.cfg
    if not cfg.predicts_tokens or cfg.mlm_act_fn is not None:
        return Measure("copying score", "share", ("layer", "head"), torch.full((cfg.n_layers, cfg.n_heads), torch.nan))
    with host.turn(), torch.inference_mode():
        loop = ov.through_vocabulary(widened(model.unembed.W_U), embedded_tokens(model))
        layers = []
        for layer in range(cfg.n_layers):
            W_V, W_O = value_and_output(model, layer)
            W_V, W_O = ov.reading(W_V, norm_before(model, layer)), ov.writing(W_O, norm_of(model.ln_final))
            layers.append(ov.copying_scores(W_V, W_O, loop).values)
    return Measure("copying score", "share", ("layer", "head"), torch.stack(layers))
