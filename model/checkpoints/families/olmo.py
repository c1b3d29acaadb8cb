"""OLMo folders: Llama's layers with LayerNorms without gain and bias.

Source: transformers' OlmoConfig and modeling_olmo.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture
from headlight.model.checkpoints.families import llama
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate OLMo's config to the fields of `TransformerConfig`."""
    return llama.settings(config) | {"normalization_type": "LNPre", "clip_qkv": config.clip_qkv}


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map OLMo's checkpoint tensors to parameter names."""
    return {name: weight for name, weight in llama.weight_map(cfg, config).items() if not name.endswith(".w")}


KEYS = Keys((*llama.BASE, "attention_bias", "clip_qkv"))
FAMILY = Architecture("olmo", settings, weight_map, KEYS).family
