"""StarCoder2 folders: grouped heads within a window, rotary positions, LayerNorms and a plain MLP.

Source: transformers' Starcoder2Config and modeling_starcoder2.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, activation, layers
from headlight.model.checkpoints.decoder import heads, mlp, norm, outside, sizes, window
from headlight.model.checkpoints.families import llama
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.rope import rotary
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate StarCoder2's config to the fields of `TransformerConfig`."""
    return sizes(config, config.num_key_value_heads) | {
        "d_mlp": config.intermediate_size,
        "act_fn": activation(config.hidden_act),
        "eps": config.norm_epsilon,
        "window_size": window(config),
        **rotary(config),
    }


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map StarCoder2's checkpoint tensors to parameter names."""
    weights = layers(cfg, lambda layer: _layer(cfg, config.use_bias, layer))
    return weights | outside(cfg, "norm", "embed_tokens.weight")


def _layer(cfg: TransformerConfig, bias: bool, at: str) -> WeightMap:
    return (
        norm("ln1", f"{at}input_layernorm", cfg.d_model)
        | heads(cfg, f"{at}self_attn.", "o_proj", bias, bias)
        | norm("ln2", f"{at}post_attention_layernorm", cfg.d_model)
        | mlp(cfg, f"{at}mlp.c_fc", f"{at}mlp.c_proj", bias)
    )


KEYS = Keys((*llama.BASE, "norm_epsilon", "sliding_window", "use_bias"))
FAMILY = Architecture("starcoder2", settings, weight_map, KEYS).family
