"""Phi-3 folders: Llama's layers with queries, keys and values in one tensor, gate and linear part of MLPs in another.

Source: transformers' Phi3Config and modeling_phi3.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.decoder import heads
from headlight.model.checkpoints.families import llama, mistral
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap, fused
from headlight.model.nn.config import TransformerConfig


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map Phi-3's checkpoint tensors to parameter names."""
    return layers(cfg, lambda layer: _layer(cfg, config, layer)) | llama.outside(cfg)


def _layer(cfg: TransformerConfig, config: Any, at: str) -> WeightMap:
    attention = heads(cfg, f"{at}self_attn.", "o_proj", read_bias=False, write_bias=False, read=["qkv_proj"] * 3)
    mlp = llama.gated_mlp(cfg, config, at, ("gate_up_proj", "gate_up_proj", "down_proj"))
    return fused(attention | mlp) | llama.norms(cfg, at)


KEYS = Keys((*mistral.READ, "partial_rotary_factor"))
FAMILY = Architecture("phi3", mistral.settings, weight_map, KEYS).family
