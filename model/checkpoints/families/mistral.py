"""Mistral folders: Llama's layers, each seeing a window.

Source: transformers' MistralConfig and modeling_mistral.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture
from headlight.model.checkpoints.decoder import window
from headlight.model.checkpoints.families import llama, qwen2
from headlight.model.checkpoints.keys import Keys


def settings(config: Any) -> dict[str, Any]:
    """Translate Mistral's config to the fields of `TransformerConfig`."""
    return llama.settings(config) | {"window_size": window(config)}


def _by_layer(config: Any) -> dict[str, Any]:
    """Mistral's settings where a config may tell which layers see a window, which transformers calls Ministral.

    Of a text's part it does not: there all layers see the window.
    """
    by_layer = getattr(config, "layer_types", None) is not None
    return llama.settings(config) | qwen2.windows(config) if by_layer else settings(config)


READ = (*llama.BASE, "rms_norm_eps", "sliding_window")
FAMILY = Architecture("mistral", _by_layer, llama.weight_map, Keys((*READ, "layer_types")), part_keys=Keys(READ)).family
