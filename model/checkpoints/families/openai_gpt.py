"""OpenAI GPT folders, the first one's: GPT-2's layers with LayerNorms after each addition, and no final one.

Source: transformers' OpenAIGPTConfig and modeling_openai.
"""

from typing import Any

from headlight.model.base.checks import check_choice
from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.decoder import READ, embedding, sizes
from headlight.model.checkpoints.families import gpt2
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap, table
from headlight.model.nn.config import TransformerConfig

EMBEDDING = "tokens_embed.weight"
ACTIVATIONS = {"relu": "relu", "silu": "silu", "gelu": "gelu_new", "swish": "silu"}  # its own names of them


def settings(config: Any) -> dict[str, Any]:
    """Translate OpenAI GPT's config to the fields of `TransformerConfig`."""
    check_choice("config.json's afn", config.afn, tuple(ACTIVATIONS))
    return sizes(config) | {
        "n_ctx": config.n_positions,
        "act_fn": ACTIVATIONS[config.afn],
        "eps": config.layer_norm_epsilon,
        "post_norm": True,
    }


def weight_map(cfg: TransformerConfig, config: object) -> WeightMap:
    """Map OpenAI GPT's checkpoint tensors to parameter names."""
    weights = layers(cfg, lambda at: gpt2.layer(cfg, at), "h.{}.") | embedding(cfg, EMBEDDING)
    return weights | {"pos_embed.W_pos": table("positions_embed.weight", cfg.n_ctx, cfg.d_model)}


FAMILY = Architecture(
    "openai-gpt",
    settings,
    weight_map,
    Keys((*READ, "n_positions", "afn", "layer_norm_epsilon"), {}),  # it has masks of its own, which are causal
    prefix="transformer.",
    ignored=r"h\.\d+\.attn\.bias|position_ids",
    embedding=EMBEDDING,
).family
