"""GPT-NeoX folders, Pythia's among them: fused heads, rotary positions in a part of each, attention beside the MLP.

Source: transformers' GPTNeoXConfig and modeling_gpt_neox.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, activation, layers
from headlight.model.checkpoints.decoder import fused_heads, mlp, norm, outside, sizes
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.rope import READ, rotary
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate GPT-NeoX's config to the fields of `TransformerConfig`."""
    return sizes(config) | {
        "d_mlp": config.intermediate_size,
        "act_fn": activation(config.hidden_act),
        "eps": config.layer_norm_eps,
        "parallel_attn_mlp": config.use_parallel_residual,
        "parallel_norms": 2 if config.use_parallel_residual else 1,
        **rotary(config),
    }


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map GPT-NeoX's checkpoint tensors to parameter names."""
    weights = layers(cfg, lambda layer: _layer(cfg, config, layer))
    return weights | outside(cfg, "final_layer_norm", "embed_in.weight")


def _layer(cfg: TransformerConfig, config: Any, at: str) -> WeightMap:
    return (
        norm("ln1", f"{at}input_layernorm", cfg.d_model)
        | fused_heads(cfg, f"{at}attention.query_key_value", f"{at}attention.dense", config.attention_bias)
        | norm("ln2", f"{at}post_attention_layernorm", cfg.d_model)
        | mlp(cfg, f"{at}mlp.dense_h_to_4h", f"{at}mlp.dense_4h_to_h")
    )


KEYS = Keys(
    (
        *(*READ, "partial_rotary_factor", "rotary_pct", "rotary_emb_base", "intermediate_size", "hidden_act"),
        *("layer_norm_eps", "use_parallel_residual", "attention_bias"),
    )
)
FAMILY = Architecture(
    "gpt_neox",
    settings,
    weight_map,
    KEYS,
    prefix="gpt_neox.",
    embedding="embed_in.weight",
    ignored=r".*\.(rotary_emb\.inv_freq|attention\.(bias|masked_bias))",
    renamed=((r"^embed_out\.", "lm_head."),),  # which save_pretrained still writes
).family
