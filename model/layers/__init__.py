"""The parts of a transformer, each an einsum a step, with a tap at every activation.

Parameters are per head: W_Q, W_K, W_V [head, d_model, d_head], W_O [head, d_head, d_model]. Their memory is laid out
so that the einsum over all heads is one plain matrix product without a copy; `product` is such an einsum.
"""

from headlight.model.layers.attention import Attention, attention_scale, build_attention
from headlight.model.layers.biases import SharedBias
from headlight.model.layers.dropout import Dropout
from headlight.model.layers.embeddings import (
    Embed,
    EmbedProject,
    PosEmbed,
    SinusoidalPosEmbed,
    TiedEmbed,
    TokenTypeEmbed,
)
from headlight.model.layers.mlm_head import build_mlm_head
from headlight.model.layers.mlp import ACTIVATIONS, MLP, MoE, build_mlp
from headlight.model.layers.norms import LayerNorm, LayerNormPre, NoNorm, RMSNormPre, build_norm
from headlight.model.layers.positions import Positions, place, place_beside
from headlight.model.layers.scores import ScoreRule
from headlight.model.layers.unembeddings import BiasedTiedUnembed, Logits, TiedUnembed, Unembed, build_unembed

__all__ = [
    "ACTIVATIONS",
    "MLP",
    "Attention",
    "BiasedTiedUnembed",
    "Dropout",
    "Embed",
    "EmbedProject",
    "LayerNorm",
    "LayerNormPre",
    "Logits",
    "MoE",
    "NoNorm",
    "PosEmbed",
    "Positions",
    "RMSNormPre",
    "ScoreRule",
    "SharedBias",
    "SinusoidalPosEmbed",
    "TiedEmbed",
    "TiedUnembed",
    "TokenTypeEmbed",
    "Unembed",
    "attention_scale",
    "build_attention",
    "build_mlm_head",
    "build_mlp",
    "build_norm",
    "build_unembed",
    "place",
    "place_beside",
]
