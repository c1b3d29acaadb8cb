"""Gemma 2 folders: Gemma's layers with norms after attention and MLP as well, windows in turns, and soft caps.

Source: transformers' Gemma2Config and modeling_gemma2.
"""

from typing import Any

from headlight.model.checkpoints import rope
from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.families import gemma, llama, qwen2
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap, vector
from headlight.model.nn.config import TransformerConfig


def settings(config: Any, positions: dict[str, Any] | None = None) -> dict[str, Any]:
    """Translate Gemma 2's config to `TransformerConfig` fields; `positions` overrides its rotary parameters."""
    return (
        gemma.settings(config, positions)
        | qwen2.windows(config)
        | {
            "attn_scale": config.query_pre_attn_scalar**0.5,
            "attn_scores_soft_cap": getattr(config, "attn_logit_softcapping", None),  # which Gemma 3 does not read
            "output_logits_soft_cap": config.final_logit_softcapping,
            "use_normalization_before_and_after": True,
        }
    )


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map Gemma 2's checkpoint tensors to parameter names."""
    return gemma.with_whole_gains(llama.weight_map(cfg, config) | layers(cfg, lambda layer: norms(cfg, layer)))


def norms(cfg: TransformerConfig, layer: str) -> WeightMap:
    """The gains of the norms before and after attention and MLP."""
    return {
        "ln1.w": vector(f"{layer}input_layernorm.weight", cfg.d_model),
        "ln1_post.w": vector(f"{layer}post_attention_layernorm.weight", cfg.d_model),
        "ln2.w": vector(f"{layer}pre_feedforward_layernorm.weight", cfg.d_model),
        "ln2_post.w": vector(f"{layer}post_feedforward_layernorm.weight", cfg.d_model),
    }


BASE = (
    *(*rope.READ, "num_key_value_heads", "intermediate_size", "hidden_activation", "rms_norm_eps", "attention_bias"),
    *("sliding_window", "layer_types", "query_pre_attn_scalar", "final_logit_softcapping"),
)
KEYS = Keys((*BASE, "attn_logit_softcapping"), gemma.ALLOWED)
FAMILY = Architecture("gemma2", settings, weight_map, KEYS).family
