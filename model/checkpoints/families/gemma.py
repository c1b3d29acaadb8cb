"""Gemma folders: Llama's layers with gains that are stored less 1, and embeddings times sqrt(d_model).

Source: transformers' GemmaConfig and modeling_gemma.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture
from headlight.model.checkpoints.families import llama
from headlight.model.checkpoints.keys import DECODER, Keys
from headlight.model.checkpoints.weight_map import WeightMap, one_plus
from headlight.model.nn.config import TransformerConfig


def settings(config: Any, positions: dict[str, Any] | None = None) -> dict[str, Any]:
    """Translate Gemma's config to `TransformerConfig` fields; `positions` overrides its rotary parameters."""
    return llama.settings(config, positions) | {"embedding_scale": config.hidden_size**0.5}


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map Gemma's checkpoint tensors to parameter names."""
    return with_whole_gains(llama.weight_map(cfg, config))


def with_whole_gains(weights: WeightMap) -> WeightMap:
    """Add 1 to the norms' gains, which Gemma stores minus 1."""
    return {name: one_plus(weight) if name.endswith(".w") else weight for name, weight in weights.items()}


BASE = (*llama.BASE, "rms_norm_eps", "attention_bias")
# With it transformers looks to both sides with one implementation of attention, and back alone with another.
ALLOWED = DECODER | {"use_bidirectional_attention": (None, False)}
FAMILY = Architecture("gemma", settings, weight_map, Keys(BASE, ALLOWED)).family
