"""Qwen2-MoE folders, Qwen1.5-MoE's: Qwen2's layers with several MLPs, and one more that all tokens share.

Source: transformers' Qwen2MoeConfig, modeling_qwen2_moe and conversion_mapping.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.decoder import heads
from headlight.model.checkpoints.families import llama, qwen2, qwen3_moe
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap, linear
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate Qwen2-MoE's config to the fields of `TransformerConfig`."""
    shared = {"d_mlp_shared": config.shared_expert_intermediate_size if config.num_experts else None}
    return qwen2.settings(config) | qwen3_moe.experts_of(config) | shared


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map Qwen2-MoE's checkpoint tensors to parameter names."""
    return (
        llama.outside(cfg)
        | layers(cfg, lambda layer: _attention(cfg, config, layer) | llama.norms(cfg, layer))
        | qwen3_moe.mlps(cfg, config)
        | layers(cfg, lambda layer: _shared(cfg, f"{layer}mlp."), only=qwen3_moe.sparse_layers(cfg))
    )


def _attention(cfg: TransformerConfig, config: Any, layer: str) -> WeightMap:
    return heads(cfg, f"{layer}self_attn.", "o_proj", config.qkv_bias, write_bias=False)


def _shared(cfg: TransformerConfig, at: str) -> WeightMap:
    d_mlp = cfg.d_mlp_shared or 0
    return {
        "mlp.W_shared_gate": linear(f"{at}shared_expert_gate.weight", cfg.d_model, 1),
        "mlp.shared_expert.W_gate": linear(f"{at}shared_expert.gate_proj.weight", cfg.d_model, d_mlp),
        "mlp.shared_expert.W_in": linear(f"{at}shared_expert.up_proj.weight", cfg.d_model, d_mlp),
        "mlp.shared_expert.W_out": linear(f"{at}shared_expert.down_proj.weight", d_mlp, cfg.d_model),
    }


KEYS = Keys((*qwen2.READ, "qkv_bias", "shared_expert_intermediate_size", *qwen3_moe.EXPERTS))
FAMILY = Architecture("qwen2_moe", settings, weight_map, KEYS).family
