"""OLMoE folders: Llama's layers with norms of queries and keys, and several MLPs, of which each token chooses some.

Source: transformers' OlmoeConfig, modeling_olmoe and conversion_mapping.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.experts import experts
from headlight.model.checkpoints.families import llama, olmo2
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate OLMoE's config to the fields of `TransformerConfig`."""
    return llama.settings(config) | {
        "use_qk_norm": True,
        "qk_norm_across_heads": True,
        "clip_qkv": config.clip_qkv,
        "num_experts": config.num_experts,
        "experts_per_token": config.num_experts_per_tok,
        "norm_topk_prob": config.norm_topk_prob,
    }


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map OLMoE's checkpoint tensors to parameter names."""
    return llama.outside(cfg) | layers(cfg, lambda layer: _layer(cfg, config, layer))


def _layer(cfg: TransformerConfig, config: Any, at: str) -> WeightMap:
    attention = llama.attention(cfg, config, at) | olmo2.head_norms(cfg, at)
    return attention | experts(cfg, f"{at}mlp.", "gate_proj", "up_proj", "down_proj") | llama.norms(cfg, at)


READ = (
    *llama.BASE,
    "rms_norm_eps",
    "attention_bias",
    "num_experts",
    "num_experts_per_tok",
    "norm_topk_prob",
    "clip_qkv",
)
FAMILY = Architecture("olmoe", settings, weight_map, Keys(READ)).family
