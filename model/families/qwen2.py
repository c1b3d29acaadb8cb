"""Qwen2 folders: Llama's layers with biases of queries, keys and values, some of them within a window.

Source: transformers' Qwen2Config and modeling_qwen2.
"""

from typing import Any

from headlight.model.config import TransformerConfig
from headlight.model.families import llama
from headlight.model.families.architecture import Architecture, layers
from headlight.model.families.decoder import heads
from headlight.model.families.pieces import Pieces


def settings(config: Any) -> dict[str, Any]:
    """Qwen2's settings under the names of `TransformerConfig`."""
    return llama.settings(config) | windows(config)


def windows(config: Any) -> dict[str, Any]:
    """Which layers see a window, and how large it is, as newer configs tell it."""
    kinds = ["local" if kind == "sliding_attention" else "global" for kind in config.layer_types]
    if "local" not in kinds:
        return {}
    return {"window_size": config.sliding_window, "attn_types": tuple(kinds)}


def pieces(cfg: TransformerConfig, config: Any) -> Pieces:
    """Where Qwen2's parameters lie."""
    attention = layers(cfg, lambda layer: heads(cfg, f"{layer}self_attn.", "o_proj", write_bias=False))
    return llama.pieces(cfg, config) | attention


FAMILY = Architecture("qwen2", settings, pieces).family
