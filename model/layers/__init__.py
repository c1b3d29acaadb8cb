"""The parts of a transformer, each an einsum a step, with a tap at every activation.

Parameters are per head: W_Q, W_K, W_V [head, d_model, d_head], W_O [head, d_head, d_model]. Their memory is laid out
so that the einsum over all heads is one plain matrix product without a copy; `product` is such an einsum.
"""

from headlight.model.layers.attention import (
    Attention,
    Mask,
    attention_pattern,
    attention_scale,
    attention_scores,
    build_mask,
)
from headlight.model.layers.dropout import Dropout
from headlight.model.layers.embeddings import Embed, PosEmbed, SinusoidalPosEmbed, TiedEmbed, positions_of
from headlight.model.layers.mlp import ACTIVATIONS, MLP
from headlight.model.layers.norms import LayerNorm, LayerNormPre, NoNorm, build_norm
from headlight.model.layers.unembeddings import BiasedTiedUnembed, Logits, TiedUnembed, Unembed

__all__ = [
    "ACTIVATIONS",
    "MLP",
    "Attention",
    "BiasedTiedUnembed",
    "Dropout",
    "Embed",
    "LayerNorm",
    "LayerNormPre",
    "Logits",
    "Mask",
    "NoNorm",
    "PosEmbed",
    "SinusoidalPosEmbed",
    "TiedEmbed",
    "TiedUnembed",
    "Unembed",
    "attention_pattern",
    "attention_scale",
    "attention_scores",
    "build_mask",
    "build_norm",
    "positions_of",
]
