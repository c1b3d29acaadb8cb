"""Qwen3-MoE folders: Qwen3's layers, most of them with several MLPs, of which each token chooses some.

Source: transformers' Qwen3MoeConfig, modeling_qwen3_moe and conversion_mapping.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.experts import experts
from headlight.model.checkpoints.families import llama, mistral, qwen3
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate Qwen3-MoE's config to the fields of `TransformerConfig`."""
    return mistral.settings(config) | experts_of(config) | {"use_qk_norm": True}


def experts_of(config: Any) -> dict[str, Any]:
    """Translate the settings of MLPs: how many experts, and which layers have one MLP all the same."""
    return {
        "num_experts": config.num_experts or None,
        "experts_per_token": config.num_experts_per_tok,
        "norm_topk_prob": config.norm_topk_prob,
        "d_mlp": config.moe_intermediate_size,
        "d_mlp_dense": config.intermediate_size,
        "dense_layers": tuple(layer for layer in range(config.num_hidden_layers) if _is_dense(config, layer)),
    }


def _is_dense(config: Any, layer: int) -> bool:
    return layer in config.mlp_only_layers or not config.num_experts or (layer + 1) % config.decoder_sparse_step != 0


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map Qwen3-MoE's checkpoint tensors to parameter names."""
    return (
        llama.outside(cfg)
        | layers(cfg, lambda layer: llama.attention(cfg, config, layer) | llama.norms(cfg, layer))
        | layers(cfg, lambda layer: qwen3.head_norms(cfg, layer))
        | mlps(cfg, config)
    )


def sparse_layers(cfg: TransformerConfig) -> list[int]:
    """The layers that have several MLPs."""
    return sorted({*range(cfg.n_layers)} - {*cfg.dense_layers})


def mlps(cfg: TransformerConfig, config: Any) -> WeightMap:
    """All layers' MLPs: one, or several with their router."""
    names, sparse = ("gate_proj", "up_proj", "down_proj"), sparse_layers(cfg)
    return layers(cfg, lambda layer: experts(cfg, f"{layer}mlp.", *names), only=sparse) | layers(
        cfg, lambda layer: llama.gated_mlp(cfg, config, layer), only=cfg.dense_layers
    )


EXPERTS = (
    *("num_experts", "num_experts_per_tok", "norm_topk_prob", "moe_intermediate_size"),
    *("mlp_only_layers", "decoder_sparse_step"),
)
KEYS = Keys((*mistral.READ, "use_sliding_window", "attention_bias", *EXPERTS))
FAMILY = Architecture("qwen3_moe", settings, weight_map, KEYS).family
