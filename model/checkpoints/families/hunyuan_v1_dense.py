"""HunYuan folders: Llama's layers with norms of queries and keys behind their positions, whose base may be stretched.

Source: transformers' HunYuanDenseV1Config and modeling_hunyuan_v1_dense.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.decoder import head_width
from headlight.model.checkpoints.families import llama
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap, vector
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate HunYuan's config to the fields of `TransformerConfig`."""
    return llama.settings(config, _positions(config)) | {"use_qk_norm": True, "qk_norm_after_rotary": True}


def _positions(config: Any) -> dict[str, Any]:
    """The rotary settings: scaled as "dynamic" with an `alpha` they have another base, whatever the text's length."""
    rope, width = config.rope_parameters, head_width(config)
    if rope["rope_type"] != "dynamic" or not rope.get("alpha"):
        return dict(rope)
    return {"rope_type": "default", "rope_theta": rope["rope_theta"] * rope["alpha"] ** (width / (width - 2))}


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map HunYuan's checkpoint tensors to parameter names."""
    return llama.weight_map(cfg, config) | layers(cfg, lambda layer: _head_norms(cfg, layer))


def _head_norms(cfg: TransformerConfig, at: str) -> WeightMap:
    return {
        "attn.q_norm.w": vector(f"{at}self_attn.query_layernorm.weight", cfg.d_head),
        "attn.k_norm.w": vector(f"{at}self_attn.key_layernorm.weight", cfg.d_head),
    }


KEYS = Keys((*llama.BASE, "rms_norm_eps", "attention_bias"))
FAMILY = Architecture("hunyuan_v1_dense", settings, weight_map, KEYS).family
