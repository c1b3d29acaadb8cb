"""The parts of a transformer, each an einsum a step, with a tap at every activation.

Parameters are per head: W_Q, W_K, W_V [head, d_model, d_head], W_O [head, d_head, d_model]. Their memory is laid out
so that the einsum over all heads is one plain matrix product without a copy; `product` is such an einsum.
"""

from headlight.model.nn.layers.embeddings import SinusoidalPosEmbed
from headlight.model.nn.layers.positions import place
from headlight.model.nn.layers.scores import ScoreRule

__all__ = ["ScoreRule", "SinusoidalPosEmbed", "place"]
