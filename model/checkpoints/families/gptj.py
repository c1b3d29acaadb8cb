"""GPT-J folders: neighbouring components are turned together, one LayerNorm for attention and MLP side by side.

Source: transformers' GPTJConfig and modeling_gptj.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, activation, layers
from headlight.model.checkpoints.decoder import READ, biased_unembedding, heads, mlp, norm, outside, sizes
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate GPT-J's config to the fields of `TransformerConfig`."""
    return sizes(config) | {
        "n_ctx": config.n_positions,
        "d_mlp": config.n_inner,
        "act_fn": activation(config.activation_function),
        "eps": config.layer_norm_epsilon,
        "positional_embedding_type": "rotary",
        "rotary_dim": config.rotary_dim,
        "rotary_adjacent_pairs": True,
        "parallel_attn_mlp": True,
        "tie_word_embeddings": False,  # the unembedding has a bias, whether its matrix is the embedding or not
    }


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map GPT-J's checkpoint tensors to parameter names."""
    weights = layers(cfg, lambda layer: _layer(cfg, layer), "h.{}.")
    return weights | outside(cfg, "ln_f", "wte.weight") | biased_unembedding(cfg)


def _layer(cfg: TransformerConfig, at: str) -> WeightMap:
    return (
        norm("ln1", f"{at}ln_1", cfg.d_model)
        | heads(cfg, f"{at}attn.", "out_proj", read_bias=False, write_bias=False)
        | mlp(cfg, f"{at}mlp.fc_in", f"{at}mlp.fc_out")
    )


KEYS = Keys((*READ, "n_positions", "n_inner", "activation_function", "layer_norm_epsilon", "rotary_dim"))
FAMILY = Architecture(
    "gptj",
    settings,
    weight_map,
    KEYS,
    prefix="transformer.",
    ignored=r"h\.\d+\.attn\.(bias|masked_bias|embed_positions)",
    embedding="wte.weight",
).family
