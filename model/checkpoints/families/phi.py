"""Phi folders: one LayerNorm for attention and MLP side by side, rotary positions in a part of each head, biases.

Source: transformers' PhiConfig and modeling_phi.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, activation, layers
from headlight.model.checkpoints.decoder import biased_unembedding, heads, mlp, norm, outside, sizes
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.rope import READ, rotary
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate Phi's config to the fields of `TransformerConfig`."""
    return sizes(config, config.num_key_value_heads) | {
        "d_mlp": config.intermediate_size,
        "act_fn": activation(config.hidden_act),
        "eps": config.layer_norm_eps,
        "use_qk_norm": config.qk_layernorm,
        "parallel_attn_mlp": True,
        "tie_word_embeddings": False,  # the unembedding has a bias, whether its matrix is the embedding or not
        **rotary(config),
    }


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map Phi's checkpoint tensors to parameter names."""
    weights = layers(cfg, lambda layer: _layer(cfg, layer))
    return weights | outside(cfg, "final_layernorm", "embed_tokens.weight") | biased_unembedding(cfg)


def _layer(cfg: TransformerConfig, at: str) -> WeightMap:
    weights = (
        norm("ln1", f"{at}input_layernorm", cfg.d_model)
        | heads(cfg, f"{at}self_attn.", "dense")
        | mlp(cfg, f"{at}mlp.fc1", f"{at}mlp.fc2")
    )
    if not cfg.use_qk_norm:
        return weights
    of_queries = norm("attn.q_norm", f"{at}self_attn.q_layernorm", cfg.d_head)
    return weights | of_queries | norm("attn.k_norm", f"{at}self_attn.k_layernorm", cfg.d_head)


KEYS = Keys(
    (
        *(*READ, "partial_rotary_factor", "num_key_value_heads", "intermediate_size", "hidden_act"),
        *("layer_norm_eps", "qk_layernorm"),
    )
)
FAMILY = Architecture("phi", settings, weight_map, KEYS).family
