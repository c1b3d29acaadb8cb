"""BLOOM folders: ALiBi, a LayerNorm of the embedding, queries, keys and values fused head by head.

Source: transformers' BloomConfig and modeling_bloom.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.decoder import READ, fused_heads, mlp, norm, outside, sizes
from headlight.model.checkpoints.keys import DECODER, Keys
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig

N_CTX = 2048  # what it was trained on, where config.json tells no seq_length; ALiBi itself has no end


def settings(config: Any) -> dict[str, Any]:
    """Translate BLOOM's config to the fields of `TransformerConfig`."""
    return sizes(config) | {
        "n_ctx": config.seq_length or N_CTX,
        "act_fn": "gelu_new",
        "eps": config.layer_norm_epsilon,
        "positional_embedding_type": "alibi",
        "post_embedding_ln": True,
    }


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map BLOOM's checkpoint tensors to parameter names."""
    weights = layers(cfg, lambda layer: _layer(cfg, layer), "h.{}.") | outside(cfg, "ln_f", "word_embeddings.weight")
    return weights | norm("embed.ln", "word_embeddings_layernorm", cfg.d_model)


def _layer(cfg: TransformerConfig, at: str) -> WeightMap:
    return (
        norm("ln1", f"{at}input_layernorm", cfg.d_model)
        | fused_heads(cfg, f"{at}self_attention.query_key_value", f"{at}self_attention.dense")
        | norm("ln2", f"{at}post_attention_layernorm", cfg.d_model)
        | mlp(cfg, f"{at}mlp.dense_h_to_4h", f"{at}mlp.dense_4h_to_h")
    )


KEYS = Keys(
    (*READ, "n_embed", "layer_norm_epsilon", "seq_length"),
    DECODER | {"apply_residual_connection_post_layernorm": (False,)},  # what is added to is the normalised stream
)
FAMILY = Architecture(
    "bloom", settings, weight_map, KEYS, prefix="transformer.", embedding="word_embeddings.weight"
).family
