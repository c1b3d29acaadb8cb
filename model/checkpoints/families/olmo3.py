"""OLMo 3 folders: OLMo 2's layers, most of them within a window, where positions are not stretched.

Source: transformers' Olmo3Config and modeling_olmo3.
"""

from typing import Any

from headlight.model.checkpoints import rope
from headlight.model.checkpoints.architecture import Architecture
from headlight.model.checkpoints.families import llama, olmo2, qwen2
from headlight.model.checkpoints.keys import Keys


def settings(config: Any) -> dict[str, Any]:
    """Translate OLMo 3's config to the fields of `TransformerConfig`."""
    of_global = olmo2.settings(config, config.rope_parameters["full_attention"])
    return of_global | rope.local(config) | qwen2.windows(config)


KEYS = Keys((*llama.BASE, "rms_norm_eps", "attention_bias", "sliding_window", "layer_types"))
FAMILY = Architecture("olmo3", settings, olmo2.weight_map, KEYS).family
