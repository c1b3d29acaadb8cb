"""Cohere folders, Command R's: one LayerNorm without bias for attention and MLP side by side, scaled logits.

Source: transformers' CohereConfig and modeling_cohere.
"""

from typing import Any

from headlight.model.config import TransformerConfig
from headlight.model.families import llama
from headlight.model.families.architecture import Architecture, activation, layers
from headlight.model.families.decoder import embedding, heads, sizes
from headlight.model.families.pieces import Pieces, table, vector
from headlight.model.families.rope import rotary


def settings(config: Any) -> dict[str, Any]:
    """Cohere's settings under the names of `TransformerConfig`."""
    of_all = sizes(config, config.num_key_value_heads)
    return of_all | {
        "d_mlp": config.intermediate_size,
        "act_fn": activation(config.hidden_act),
        "gated_mlp": True,
        "eps": config.layer_norm_eps,
        "use_qk_norm": config.use_qk_norm,
        "qk_norm_per_head": config.use_qk_norm,
        "parallel_attn_mlp": True,
        "rotary_adjacent_pairs": True,
        "logits_scale": config.logit_scale,
        **rotary(config, of_all["d_head"]),
    }


def pieces(cfg: TransformerConfig, config: Any) -> Pieces:
    """Where Cohere's parameters lie."""
    found = layers(cfg, lambda layer: _layer(cfg, config, layer)) | embedding(cfg, "embed_tokens.weight")
    return found | {"ln_final.w": vector("norm.weight", cfg.d_model)}


def _layer(cfg: TransformerConfig, config: Any, at: str) -> Pieces:
    bias = config.attention_bias
    found = {"ln1.w": vector(f"{at}input_layernorm.weight", cfg.d_model)}
    found |= heads(cfg, f"{at}self_attn.", "o_proj", bias, bias) | llama.gated_mlp(cfg, config, at)
    if cfg.use_qk_norm:
        found["attn.q_norm.w"] = table(f"{at}self_attn.q_norm.weight", cfg.n_heads, cfg.d_head)
        found["attn.k_norm.w"] = table(f"{at}self_attn.k_norm.weight", config.num_key_value_heads, cfg.d_head)
    return found


FAMILY = Architecture("cohere", settings, pieces).family
