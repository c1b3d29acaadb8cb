"""Qwen3 folders: Llama's layers with an RMSNorm of each head's query and key, some of them within a window.

Source: transformers' Qwen3Config and modeling_qwen3.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.families import llama, qwen2
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap, vector
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate Qwen3's config to the fields of `TransformerConfig`."""
    return llama.settings(config) | qwen2.windows(config) | {"use_qk_norm": True}


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map Qwen3's checkpoint tensors to parameter names."""
    return llama.weight_map(cfg, config) | layers(cfg, lambda layer: head_norms(cfg, layer))


def head_norms(cfg: TransformerConfig, layer: str) -> WeightMap:
    """The gains of the norms of queries and keys, which all heads share."""
    return {
        "attn.q_norm.w": vector(f"{layer}self_attn.q_norm.weight", cfg.d_head),
        "attn.k_norm.w": vector(f"{layer}self_attn.k_norm.weight", cfg.d_head),
    }


FAMILY = Architecture("qwen3", settings, weight_map, Keys((*qwen2.READ, "attention_bias"))).family
