"""GLM-4 folders: GLM's layers with norms after attention and MLP as well.

Source: transformers' Glm4Config and modeling_glm4.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.families import glm
from headlight.model.checkpoints.weight_map import WeightMap, vector
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate GLM-4's config to the fields of `TransformerConfig`."""
    return glm.settings(config) | {"use_normalization_before_and_after": True}


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map GLM-4's checkpoint tensors to parameter names."""
    return glm.weight_map(cfg, config) | layers(cfg, lambda layer: _norms_behind(cfg, layer))


def _norms_behind(cfg: TransformerConfig, at: str) -> WeightMap:
    return {
        "ln1_post.w": vector(f"{at}post_self_attn_layernorm.weight", cfg.d_model),
        "ln2_post.w": vector(f"{at}post_mlp_layernorm.weight", cfg.d_model),
    }


FAMILY = Architecture("glm4", settings, weight_map, glm.KEYS).family
