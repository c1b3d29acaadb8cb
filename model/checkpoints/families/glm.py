"""GLM folders: Llama's layers, where neighbouring components of a part of each head are turned together.

Source: transformers' GlmConfig and modeling_glm.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.decoder import heads
from headlight.model.checkpoints.families import llama
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap, fused
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate GLM's config to the fields of `TransformerConfig`."""
    return llama.settings(config) | {"rotary_adjacent_pairs": True}


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map GLM's checkpoint tensors to parameter names."""
    return layers(cfg, lambda layer: _layer(cfg, config, layer)) | llama.outside(cfg)


def _layer(cfg: TransformerConfig, config: Any, at: str) -> WeightMap:
    attention = heads(cfg, f"{at}self_attn.", "o_proj", config.attention_bias, write_bias=False)
    mlp = llama.gated_mlp(cfg, config, at, ("gate_up_proj", "gate_up_proj", "down_proj"))
    return attention | fused(mlp) | llama.norms(cfg, at)


KEYS = Keys((*llama.BASE, "rms_norm_eps", "attention_bias", "partial_rotary_factor"))
FAMILY = Architecture("glm", settings, weight_map, KEYS).family
