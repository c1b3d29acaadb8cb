"""BioGPT folders: learned positions from the third row on, scaled embeddings, LayerNorms before attention and MLP.

Source: transformers' BioGptConfig and modeling_biogpt.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, activation, layers
from headlight.model.checkpoints.decoder import READ, outside, sizes
from headlight.model.checkpoints.families import xglm
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap, table
from headlight.model.nn.config import TransformerConfig

FIRST = 2  # the row of the first position


def settings(config: Any) -> dict[str, Any]:
    """Translate BioGPT's config to the fields of `TransformerConfig`; its norms do not go by layer_norm_eps."""
    return sizes(config) | {
        "n_ctx": config.max_position_embeddings,
        "d_mlp": config.intermediate_size,
        "act_fn": activation(config.hidden_act),
        "embedding_scale": config.hidden_size**0.5 if config.scale_embedding else 1.0,
    }


def weight_map(cfg: TransformerConfig, config: object) -> WeightMap:
    """Map BioGPT's checkpoint tensors to parameter names."""
    weights = layers(cfg, lambda layer: xglm.block(cfg, layer)) | outside(cfg, "layer_norm", xglm.EMBEDDING)
    weights["pos_embed.W_pos"] = table("embed_positions.weight", cfg.n_ctx, cfg.d_model, FIRST)
    return weights


KEYS = Keys((*READ, "max_position_embeddings", "intermediate_size", "hidden_act", "scale_embedding"))
FAMILY = Architecture(
    "biogpt", settings, weight_map, KEYS, prefix="biogpt.", renamed=((r"^output_projection\.", "lm_head."),)
).family
