"""SmolLM3 folders: Llama's layers, some of which turn no queries and keys; these may see a window.

Source: transformers' SmolLM3Config and modeling_smollm3.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture
from headlight.model.checkpoints.families import llama, qwen2
from headlight.model.checkpoints.keys import Keys


def settings(config: Any) -> dict[str, Any]:
    """Translate SmolLM3's config to the fields of `TransformerConfig`."""
    unturned = tuple(layer for layer, turns in enumerate(config.no_rope_layers) if not turns)  # it is 1 where one turns
    return llama.settings(config) | qwen2.windows(config) | {"no_rope_layers": unturned}


KEYS = Keys(
    (
        *(*llama.READ, "use_sliding_window", "sliding_window", "layer_types"),
        *("no_rope_layers", "no_rope_layer_interval"),
    )
)
FAMILY = Architecture("smollm3", settings, llama.weight_map, KEYS).family
