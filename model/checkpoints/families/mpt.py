"""MPT folders: ALiBi, LayerNorms and linear layers without biases, queries, keys and values side by side in one matrix.

Source: transformers' MptConfig and modeling_mpt.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.decoder import READ, embedding, heads, mlp, sizes
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap, fused, vector
from headlight.model.nn.config import TransformerConfig

ATTENTION = Keys(
    ("softmax_scale", "clip_qkv"),
    {
        "attn_type": ("multihead_attention",),
        "prefix_lm": (False,),
        "qk_ln": (False,),
        "alibi": (True,),
        "alibi_bias_max": (8,),  # transformers goes by no other
    },
)


def settings(config: Any) -> dict[str, Any]:
    """Translate MPT's config to the fields of `TransformerConfig`.

    Raises:
        ConfigError: its attention is none that is supported.
    """
    attention = config.attn_config
    ATTENTION.check(attention.to_dict())
    return sizes(config) | {
        "n_ctx": config.max_seq_len,
        "act_fn": "gelu",
        "eps": config.layer_norm_epsilon,
        "attn_scale": None if attention.softmax_scale is None else 1 / attention.softmax_scale,
        "positional_embedding_type": "alibi",
        "clip_qkv": attention.clip_qkv or None,
    }


def weight_map(cfg: TransformerConfig, config: object) -> WeightMap:
    """Map MPT's checkpoint tensors to parameter names."""
    weights = layers(cfg, lambda layer: _layer(cfg, layer), "blocks.{}.")
    return weights | embedding(cfg, "wte.weight") | {"ln_final.w": vector("norm_f.weight", cfg.d_model)}


def _layer(cfg: TransformerConfig, at: str) -> WeightMap:
    return (
        {"ln1.w": vector(f"{at}norm_1.weight", cfg.d_model), "ln2.w": vector(f"{at}norm_2.weight", cfg.d_model)}
        | fused(heads(cfg, f"{at}attn.", "out_proj", read_bias=False, write_bias=False, read=["Wqkv"] * 3))
        | mlp(cfg, f"{at}ffn.up_proj", f"{at}ffn.down_proj", bias=False)
    )


KEYS = Keys(
    (*READ, "max_seq_len", "layer_norm_epsilon", "attn_config"),
    {
        "is_causal": (True,),
        # The original goes by these, and transformers does not.
        "expansion_ratio": (4,),
        "logit_scale": (None,),
        "no_bias": (True,),
        "norm_type": ("low_precision_layernorm", "layernorm"),
    },
)
FAMILY = Architecture("mpt", settings, weight_map, KEYS, prefix="transformer.", embedding="wte.weight").family
