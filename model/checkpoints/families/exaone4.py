"""EXAONE 4 folders: Llama's layers with norms behind attention and MLP, not before them, and of queries and keys.

Where some layers see a window, the others turn nothing.

Source: transformers' Exaone4Config and modeling_exaone4.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.families import llama, olmo2, qwen2, qwen3
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate EXAONE 4's config to the fields of `TransformerConfig`."""
    return (
        olmo2.settings(config)
        | qwen2.windows(config)
        | {
            "qk_norm_across_heads": False,
            "no_rope_layers": () if config.sliding_window is None else qwen2.global_layers(config),
        }
    )


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map EXAONE 4's checkpoint tensors to parameter names."""
    return olmo2.weight_map(cfg, config) | layers(cfg, lambda layer: qwen3.head_norms(cfg, layer))


KEYS = Keys((*llama.BASE, "rms_norm_eps", "sliding_window", "sliding_window_pattern", "layer_types"))
FAMILY = Architecture("exaone4", settings, weight_map, KEYS).family
