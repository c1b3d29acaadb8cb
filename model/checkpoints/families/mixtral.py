"""Mixtral folders: Mistral's layers with several MLPs, of which each token chooses some.

Source: transformers' MixtralConfig, modeling_mixtral and conversion_mapping.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.experts import experts
from headlight.model.checkpoints.families import llama, mistral
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import Pieces
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Mixtral's settings under the names of `TransformerConfig`."""
    return mistral.settings(config) | {
        "num_experts": config.num_local_experts,
        "experts_per_token": config.num_experts_per_tok,
        "norm_topk_prob": True,
    }


def pieces(cfg: TransformerConfig, config: Any) -> Pieces:
    """Where Mixtral's parameters lie."""
    return llama.outside(cfg) | layers(cfg, lambda layer: of_layer(cfg, config, layer))


def of_layer(cfg: TransformerConfig, config: Any, layer: str) -> Pieces:
    """What a layer holds."""
    chosen = experts(cfg, f"{layer}block_sparse_moe.", "w1", "w3", "w2")
    return llama.attention(cfg, config, layer) | chosen | llama.norms(cfg, layer)


KEYS = Keys((*mistral.READ, "num_local_experts", "num_experts_per_tok"))
FAMILY = Architecture("mixtral", settings, pieces, KEYS).family
