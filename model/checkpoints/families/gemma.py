"""Gemma folders: Llama's layers with gains that are stored less 1, and embeddings times sqrt(d_model).

Source: transformers' GemmaConfig and modeling_gemma.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture
from headlight.model.checkpoints.families import llama
from headlight.model.checkpoints.keys import DECODER, Keys
from headlight.model.checkpoints.weight_map import Pieces, one_plus
from headlight.model.nn.config import TransformerConfig


def settings(config: Any, positions: dict[str, Any] | None = None) -> dict[str, Any]:
    """Gemma's settings under the names of `TransformerConfig`, with the config's rotary positions or those given."""
    return llama.settings(config, positions) | {"embedding_scale": config.hidden_size**0.5}


def pieces(cfg: TransformerConfig, config: Any) -> Pieces:
    """Where Gemma's parameters lie."""
    return with_whole_gains(llama.pieces(cfg, config))


def with_whole_gains(found: Pieces) -> Pieces:
    """The pieces, with 1 added to the norms' gains."""
    return {name: one_plus(piece) if name.endswith(".w") else piece for name, piece in found.items()}


BASE = (*llama.BASE, "rms_norm_eps", "attention_bias")
# With it transformers looks to both sides with one implementation of attention, and back alone with another.
ALLOWED = DECODER | {"use_bidirectional_attention": (None, False)}
FAMILY = Architecture("gemma", settings, pieces, Keys(BASE, ALLOWED)).family
