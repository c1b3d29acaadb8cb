"""GPT-J folders: neighbouring components are turned together, one LayerNorm for attention and MLP side by side.

Source: transformers' GPTJConfig and modeling_gptj.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, activation, layers
from headlight.model.checkpoints.decoder import READ, biased_unembedding, heads, mlp, norm, outside, sizes
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import Pieces
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """GPT-J's settings under the names of `TransformerConfig`."""
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


def pieces(cfg: TransformerConfig, config: Any) -> Pieces:
    """Where GPT-J's parameters lie."""
    found = layers(cfg, lambda layer: _layer(cfg, layer), "h.{}.")
    return found | outside(cfg, "ln_f", "wte.weight") | biased_unembedding(cfg)


def _layer(cfg: TransformerConfig, at: str) -> Pieces:
    return (
        norm("ln1", f"{at}ln_1", cfg.d_model)
        | heads(cfg, f"{at}attn.", "out_proj", read_bias=False, write_bias=False)
        | mlp(cfg, f"{at}mlp.fc_in", f"{at}mlp.fc_out")
    )


KEYS = Keys((*READ, "n_positions", "n_inner", "activation_function", "layer_norm_epsilon", "rotary_dim"))
FAMILY = Architecture(
    "gptj",
    settings,
    pieces,
    KEYS,
    prefix="transformer.",
    ignored=r"h\.\d+\.attn\.(bias|masked_bias|embed_positions)",
    embedding="wte.weight",
).family
