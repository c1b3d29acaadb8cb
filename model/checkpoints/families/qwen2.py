"""Qwen2 folders: Llama's layers with biases of queries, keys and values, some of them within a window.

Source: transformers' Qwen2Config and modeling_qwen2.
"""

from typing import Any

from headlight.model.base.checks import check_choice
from headlight.model.base.errors import ConfigError
from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.decoder import heads, window
from headlight.model.checkpoints.families import llama
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig

KINDS = {"sliding_attention": "local", "full_attention": "global"}  # of layers, and our names for them


def settings(config: Any) -> dict[str, Any]:
    """Translate Qwen2's config to the fields of `TransformerConfig`."""
    return llama.settings(config) | windows(config)


def windows(config: Any) -> dict[str, Any]:
    """Layers with a sliding window, and its size, by the keys of newer configs."""
    for kind in config.layer_types:
        check_choice("config.json's layer_types", kind, tuple(KINDS))
    if "sliding_attention" not in config.layer_types:
        return {}
    if config.sliding_window is None:
        raise ConfigError(
            "config.json has layers of sliding_attention, and tells no sliding_window, or sets use_sliding_window to "
            "false. Correct whichever is wrong."
        )
    return {"window_size": window(config), "attn_types": tuple(KINDS[kind] for kind in config.layer_types)}


def global_layers(config: Any) -> tuple[int, ...]:
    """The layers that see no window."""
    return tuple(layer for layer, kind in enumerate(config.layer_types) if kind == "full_attention")


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map Qwen2's checkpoint tensors to parameter names."""
    attention = layers(cfg, lambda layer: heads(cfg, f"{layer}self_attn.", "o_proj", write_bias=False))
    return llama.weight_map(cfg, config) | attention


READ = (*llama.BASE, "rms_norm_eps", "use_sliding_window", "sliding_window", "max_window_layers", "layer_types")
FAMILY = Architecture("qwen2", settings, weight_map, Keys(READ)).family
