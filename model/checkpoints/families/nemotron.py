"""Nemotron folders: Arcee's MLPs, LayerNorms with gains that are stored less 1, and a part of each head turned.

Source: transformers' NemotronConfig and modeling_nemotron.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.decoder import norm, outside
from headlight.model.checkpoints.families import arcee, gemma, llama
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate Nemotron's config to the fields of `TransformerConfig`."""
    return arcee.settings(config) | {"normalization_type": "LN", "eps": config.norm_eps}


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map Nemotron's checkpoint tensors to parameter names."""
    weights = layers(cfg, lambda layer: _layer(cfg, config, layer)) | outside(cfg, "norm", "embed_tokens.weight")
    return gemma.with_whole_gains(weights)


def _layer(cfg: TransformerConfig, config: Any, at: str) -> WeightMap:
    return (
        norm("ln1", f"{at}input_layernorm", cfg.d_model)
        | llama.attention(cfg, config, at)
        | norm("ln2", f"{at}post_attention_layernorm", cfg.d_model)
        | arcee.plain_mlp(cfg, config, at)
    )


KEYS = Keys((*llama.BASE, "norm_eps", "attention_bias", "mlp_bias", "partial_rotary_factor"))
FAMILY = Architecture("nemotron", settings, weight_map, KEYS).family
