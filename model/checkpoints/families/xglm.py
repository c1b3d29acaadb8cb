"""XGLM folders: sinusoidal positions, scaled embeddings, LayerNorms before attention and MLP, biases.

Source: transformers' XGLMConfig and modeling_xglm.
"""

import math
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.checkpoints.architecture import Architecture, activation, layers
from headlight.model.checkpoints.decoder import READ, heads, mlp, norm, outside, sizes
from headlight.model.checkpoints.keys import DECODER, Keys
from headlight.model.checkpoints.weight_map import WeightMap, table
from headlight.model.nn.config import TransformerConfig

EMBEDDING = "embed_tokens.weight"
FIRST = 2  # the number of the first position


def settings(config: Any) -> dict[str, Any]:
    """Translate XGLM's config to the fields of `TransformerConfig`."""
    return sizes(config) | {
        "n_ctx": config.max_position_embeddings,
        "d_mlp": config.ffn_dim,
        "act_fn": activation(config.activation_function),
        "embedding_scale": config.hidden_size**0.5 if config.scale_embedding else 1.0,
    }


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map XGLM's checkpoint tensors to parameter names; its positions are in no file, they are a formula."""
    weights = layers(cfg, lambda layer: block(cfg, layer)) | outside(cfg, "layer_norm", EMBEDDING)
    waves = partial(sinusoids, cfg.n_ctx, cfg.d_model, config.pad_token_id)
    weights["pos_embed.W_pos"] = table(EMBEDDING, cfg.d_vocab, cfg.d_model).then(lambda _: waves())
    return weights


def sinusoids(n_ctx: int, width: int, padding: int | None) -> Float[Tensor, "pos width"]:
    """Sines of all wavelengths, then their cosines; the position that has the padding token's number is zero."""
    half = width // 2
    frequencies = torch.exp(torch.arange(half).float() * -(math.log(10000) / (half - 1)))
    angles = torch.arange(FIRST + n_ctx).float()[:, None] * frequencies
    waves = torch.cat([angles.sin(), angles.cos(), torch.zeros(len(angles), width % 2)], 1)
    if padding is not None:
        waves[padding] = 0
    return waves[FIRST:]


def block(cfg: TransformerConfig, at: str) -> WeightMap:
    """Map one layer, which is BioGPT's as well."""
    return (
        norm("ln1", f"{at}self_attn_layer_norm", cfg.d_model)
        | heads(cfg, f"{at}self_attn.", "out_proj")
        | norm("ln2", f"{at}final_layer_norm", cfg.d_model)
        | mlp(cfg, f"{at}fc1", f"{at}fc2")
    )


KEYS = Keys(
    (*READ, "max_position_embeddings", "ffn_dim", "activation_function", "scale_embedding", "pad_token_id"),
    DECODER | {"add_cross_attention": (False,)},
)
FAMILY = Architecture("xglm", settings, weight_map, KEYS).family
