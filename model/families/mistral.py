"""Mistral folders: Llama's layers, each seeing a window.

Source: transformers' MistralConfig and modeling_mistral.
"""

from typing import Any

from headlight.model.families import llama
from headlight.model.families.architecture import Architecture


def settings(config: Any) -> dict[str, Any]:
    """Mistral's settings under the names of `TransformerConfig`."""
    return llama.settings(config) | {"window_size": config.sliding_window}


FAMILY = Architecture("mistral", settings, llama.pieces).family
