"""Cohere folders, Command R's: one LayerNorm without bias for attention and MLP side by side, scaled logits.

Source: transformers' CohereConfig and modeling_cohere.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.families import llama
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap, table, vector
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate Cohere's config to the fields of `TransformerConfig`."""
    return llama.settings(config) | {
        "normalization_type": "LN",
        "eps": config.layer_norm_eps,
        "use_qk_norm": getattr(config, "use_qk_norm", False),  # which Cohere 2 does not read
        "qk_norm_per_head": getattr(config, "use_qk_norm", False),
        "parallel_attn_mlp": True,
        "rotary_adjacent_pairs": True,
        "logits_scale": config.logit_scale,
    }


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map Cohere's checkpoint tensors to parameter names."""
    return layers(cfg, lambda layer: _layer(cfg, config, layer)) | llama.outside(cfg)


def _layer(cfg: TransformerConfig, config: Any, at: str) -> WeightMap:
    weights = {"ln1.w": vector(f"{at}input_layernorm.weight", cfg.d_model)}
    weights |= llama.attention(cfg, config, at) | llama.gated_mlp(cfg, config, at)
    if cfg.use_qk_norm:
        weights["attn.q_norm.w"] = table(f"{at}self_attn.q_norm.weight", cfg.n_heads, cfg.d_head)
        weights["attn.k_norm.w"] = table(f"{at}self_attn.k_norm.weight", cfg.n_shared, cfg.d_head)
    return weights


KEYS = Keys((*llama.BASE, "layer_norm_eps", "attention_bias", "use_qk_norm", "logit_scale"))
FAMILY = Architecture("cohere", settings, weight_map, KEYS).family
