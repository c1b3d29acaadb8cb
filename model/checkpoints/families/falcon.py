"""Falcon folders: keys and values of all heads or of groups of them in one, attention mostly beside the MLP.

Some have rotary positions, some ALiBi: rounded to bfloat16, and scaled as the scores are.

Source: transformers' FalconConfig and modeling_falcon.
"""

import json
from typing import Any

from headlight.model.base.errors import ConfigError
from headlight.model.checkpoints.architecture import Architecture, activation, layers
from headlight.model.checkpoints.decoder import fused_heads, head_width, mlp, norm, outside, sizes
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.rope import READ, rotary
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate Falcon's config to the fields of `TransformerConfig`.

    Raises:
        ConfigError: a number of norms that the architecture has not.
    """
    is_parallel = config.parallel_attn or config.new_decoder_architecture
    alibi = {
        "n_ctx": config.max_position_embeddings,
        "positional_embedding_type": "alibi",
        "alibi_scale": head_width(config) ** -0.5,
        "alibi_in_bfloat16": True,
    }
    return sizes(config, _n_key_value_heads(config)) | {
        "d_mlp": config.ffn_hidden_size,
        "act_fn": activation(config.activation),
        "eps": config.layer_norm_epsilon,
        "parallel_attn_mlp": is_parallel,
        "parallel_norms": _parallel_norms(config) if is_parallel else 1,
        **(alibi if config.alibi else rotary(config)),
    }


def _parallel_norms(config: Any) -> int:
    """Number of norms where attention and MLP read the same stream: the old architecture has one."""
    allowed = (1, 2) if config.new_decoder_architecture else (1,)
    n_norms = config.num_ln_in_parallel_attn
    n_norms = allowed[-1] if n_norms is None else n_norms
    if n_norms not in allowed:
        raise ConfigError(
            f"config.json sets num_ln_in_parallel_attn to {n_norms!r} and new_decoder_architecture to "
            f"{json.dumps(bool(config.new_decoder_architecture))}, which has {' or '.join(map(str, allowed))}. Correct "
            "whichever is wrong."
        )
    return int(n_norms)


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map Falcon's checkpoint tensors to parameter names."""
    weights = layers(cfg, lambda layer: _layer(cfg, config, layer), "h.{}.")
    return weights | outside(cfg, "ln_f", "word_embeddings.weight")


def _layer(cfg: TransformerConfig, config: Any, at: str) -> WeightMap:
    return (
        _norms(cfg, at)
        | fused_heads(cfg, f"{at}self_attention.query_key_value", f"{at}self_attention.dense", config.bias)
        | mlp(cfg, f"{at}mlp.dense_h_to_4h", f"{at}mlp.dense_4h_to_h", config.bias)
    )


def _norms(cfg: TransformerConfig, at: str) -> WeightMap:
    if cfg.parallel_norms == 2:
        return norm("ln1", f"{at}ln_attn", cfg.d_model) | norm("ln2", f"{at}ln_mlp", cfg.d_model)
    first = norm("ln1", f"{at}input_layernorm", cfg.d_model)
    return first if cfg.parallel_attn_mlp else first | norm("ln2", f"{at}post_attention_layernorm", cfg.d_model)


def _n_key_value_heads(config: Any) -> int:
    if config.new_decoder_architecture:
        return config.num_kv_heads
    return 1 if config.multi_query else config.num_attention_heads


KEYS = Keys(
    (
        *(*READ, "n_embed", "num_kv_heads", "ffn_hidden_size", "activation", "layer_norm_epsilon", "bias", "alibi"),
        *("new_decoder_architecture", "num_ln_in_parallel_attn", "parallel_attn", "multi_query"),
    )
)
FAMILY = Architecture(
    "falcon", settings, weight_map, KEYS, prefix="transformer.", embedding="word_embeddings.weight"
).family
