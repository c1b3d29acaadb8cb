"""Cohere 2 folders, Command R7B's: Cohere's layers, most of them within a window; the others turn nothing.

Source: transformers' Cohere2Config and modeling_cohere2.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture
from headlight.model.checkpoints.families import cohere, llama, qwen2
from headlight.model.checkpoints.keys import Keys


def settings(config: Any) -> dict[str, Any]:
    """Translate Cohere 2's config to the fields of `TransformerConfig`."""
    return cohere.settings(config) | qwen2.windows(config) | {"no_rope_layers": qwen2.global_layers(config)}


KEYS = Keys(
    (
        *(*llama.BASE, "layer_norm_eps", "attention_bias", "logit_scale"),
        *("sliding_window", "sliding_window_pattern", "layer_types"),
    )
)
FAMILY = Architecture("cohere2", settings, cohere.weight_map, KEYS).family
