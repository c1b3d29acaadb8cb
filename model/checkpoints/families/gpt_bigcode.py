"""GPT-BigCode folders, StarCoder's and SantaCoder's: GPT-2's blocks, one key and one value for all heads or one each.

`attention_softmax_in_fp32` and `scale_attention_softmax_in_fp32` change nothing in float32.

Source: transformers' GPTBigCodeConfig and modeling_gpt_bigcode.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, activation, layers
from headlight.model.checkpoints.decoder import READ, fused_heads, mlp, norm, sizes
from headlight.model.checkpoints.families import gpt2
from headlight.model.checkpoints.keys import DECODER, Keys
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate GPT-BigCode's config to the fields of `TransformerConfig`."""
    return sizes(config, 1 if config.multi_query else None) | {
        "n_ctx": config.n_positions,
        "d_mlp": config.n_inner,
        "act_fn": activation(config.activation_function),
        "eps": config.layer_norm_epsilon,
        "attn_scale": None if config.scale_attn_weights else 1.0,
    }


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map GPT-BigCode's checkpoint tensors to parameter names."""
    return layers(cfg, lambda layer: _layer(cfg, layer), "h.{}.") | gpt2.around(cfg)


def _layer(cfg: TransformerConfig, at: str) -> WeightMap:
    return (
        norm("ln1", f"{at}ln_1", cfg.d_model)
        | fused_heads(cfg, f"{at}attn.c_attn", f"{at}attn.c_proj")
        | norm("ln2", f"{at}ln_2", cfg.d_model)
        | mlp(cfg, f"{at}mlp.c_fc", f"{at}mlp.c_proj")
    )


KEYS = Keys(
    (*READ, "n_positions", "n_inner", "activation_function", "layer_norm_epsilon", "scale_attn_weights", "multi_query"),
    DECODER | {"add_cross_attention": (False,)},
)
FAMILY = Architecture(
    "gpt_bigcode",
    settings,
    weight_map,
    KEYS,
    prefix="transformer.",
    ignored=r"h\.\d+\.attn\.(bias|masked_bias)|bias",
    embedding="wte.weight",
).family
