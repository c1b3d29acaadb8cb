"""Granite folders: Llama's layers with multipliers of embeddings, scores, writes to the stream, and logits.

Source: transformers' GraniteConfig and modeling_granite.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture
from headlight.model.checkpoints.families import llama
from headlight.model.checkpoints.keys import Keys


def settings(config: Any) -> dict[str, Any]:
    """Translate Granite's config to the fields of `TransformerConfig`."""
    return llama.settings(config) | {
        "embedding_scale": config.embedding_multiplier,
        "attn_scale": 1 / config.attention_multiplier,
        "residual_scale": config.residual_multiplier,
        "logits_scale": 1 / config.logits_scaling,
    }


MULTIPLIERS = ("embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling")
FAMILY = Architecture("granite", settings, llama.weight_map, Keys((*llama.READ, *MULTIPLIERS))).family
