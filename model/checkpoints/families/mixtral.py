"""Mixtral folders: Mistral's layers with several MLPs, of which each token chooses some.

Source: transformers' MixtralConfig, modeling_mixtral and conversion_mapping.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.experts import experts
from headlight.model.checkpoints.families import llama, mistral
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate Mixtral's config to the fields of `TransformerConfig`."""
    return mistral.settings(config) | {
        "num_experts": config.num_local_experts,
        "experts_per_token": config.num_experts_per_tok,
        "norm_topk_prob": True,
    }


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map Mixtral's checkpoint tensors to parameter names."""
    return llama.outside(cfg) | layers(cfg, lambda layer: of_layer(cfg, config, layer))


def of_layer(cfg: TransformerConfig, config: Any, layer: str) -> WeightMap:
    """Map one layer."""
    chosen = experts(cfg, f"{layer}block_sparse_moe.", "w1", "w3", "w2")
    return llama.attention(cfg, config, layer) | chosen | llama.norms(cfg, layer)


KEYS = Keys((*mistral.READ, "num_local_experts", "num_experts_per_tok"))
ROUTER = (r"\.mlp\.gate\.", ".block_sparse_moe.gate.")  # as transformers 5 calls it in memory, and torch.save writes it
FAMILY = Architecture("mixtral", settings, weight_map, KEYS, renamed=(ROUTER,)).family
