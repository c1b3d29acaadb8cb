"""GPT-Neo folders: GPT-2's blocks with linear layers, scores that are not scaled, and every second layer in a window.

Source: transformers' GPTNeoConfig and modeling_gpt_neo.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, activation, layers
from headlight.model.checkpoints.decoder import READ, heads, mlp, norm, sizes
from headlight.model.checkpoints.families import gpt2
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate GPT-Neo's config to the fields of `TransformerConfig`."""
    return sizes(config) | {
        "n_ctx": config.max_position_embeddings,
        "d_mlp": config.intermediate_size,
        "act_fn": activation(config.activation_function),
        "eps": config.layer_norm_epsilon,
        "attn_scale": 1.0,
        "window_size": config.window_size,
        "attn_types": tuple(config.attention_layers),
    }


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map GPT-Neo's checkpoint tensors to parameter names."""
    return layers(cfg, lambda layer: _layer(cfg, layer), "h.{}.") | gpt2.around(cfg)


def _layer(cfg: TransformerConfig, at: str) -> WeightMap:
    return (
        norm("ln1", f"{at}ln_1", cfg.d_model)
        | heads(cfg, f"{at}attn.attention.", "out_proj", read_bias=False)
        | norm("ln2", f"{at}ln_2", cfg.d_model)
        | mlp(cfg, f"{at}mlp.c_fc", f"{at}mlp.c_proj")
    )


KEYS = Keys(
    (
        *(*READ, "max_position_embeddings", "intermediate_size", "activation_function", "layer_norm_epsilon"),
        *("window_size", "attention_types", "attention_layers"),
    ),
    {},  # it has masks of its own, which are causal whatever is_causal says
)
FAMILY = Architecture(
    "gpt_neo",
    settings,
    weight_map,
    KEYS,
    prefix="transformer.",
    ignored=r"h\.\d+\.attn\.attention\.(bias|masked_bias)",
    embedding="wte.weight",
).family
