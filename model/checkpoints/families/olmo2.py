"""OLMo 2 folders: Llama's layers with norms behind attention and MLP, not before them, and norms of queries and keys.

The latter take all heads' queries, or keys, as one vector.

Source: transformers' Olmo2Config and modeling_olmo2.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.families import llama
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap, vector
from headlight.model.nn.config import TransformerConfig


def settings(config: Any, positions: dict[str, Any] | None = None) -> dict[str, Any]:
    """Translate OLMo 2's config to `TransformerConfig` fields; `positions` overrides its rotary parameters."""
    return llama.settings(config, positions) | {
        "use_qk_norm": True,
        "qk_norm_across_heads": True,
        "normalize_before": False,
        "use_normalization_before_and_after": True,
    }


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map OLMo 2's checkpoint tensors to parameter names."""
    return llama.outside(cfg) | layers(cfg, lambda layer: of_layer(cfg, config, layer))


def of_layer(cfg: TransformerConfig, config: Any, layer: str) -> WeightMap:
    """Map one layer."""
    norms = {
        "ln1_post.w": vector(f"{layer}post_attention_layernorm.weight", cfg.d_model),
        "ln2_post.w": vector(f"{layer}post_feedforward_layernorm.weight", cfg.d_model),
    }
    attention = llama.attention(cfg, config, layer) | head_norms(cfg, layer)
    return attention | llama.gated_mlp(cfg, config, layer) | norms


def head_norms(cfg: TransformerConfig, layer: str) -> WeightMap:
    """The gains of the norms of queries and keys, all heads' as one vector."""
    return {
        "attn.q_norm.w": vector(f"{layer}self_attn.q_norm.weight", cfg.n_heads * cfg.d_head),
        "attn.k_norm.w": vector(f"{layer}self_attn.k_norm.weight", cfg.n_shared * cfg.d_head),
    }


KEYS = Keys((*llama.BASE, "rms_norm_eps", "attention_bias"))
FAMILY = Architecture("olmo2", settings, weight_map, KEYS).family
