"""Qwen2.5-VL folders: the text's part is Qwen2, whose positions are those of tokens where there are no images.

Source: transformers' Qwen2_5_VLTextConfig and modeling_qwen2_5_vl.
"""

from dataclasses import replace
from typing import Any

from headlight.model.checkpoints.architecture import Architecture
from headlight.model.checkpoints.families import qwen2
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.multimodal import resembles_none


def settings(config: Any) -> dict[str, Any]:
    """Translate the config of a Qwen2.5-VL's text to `TransformerConfig` fields; whether it is tied the whole says."""
    return qwen2.settings(config) | {"tie_word_embeddings": bool(config.tie_word_embeddings)}


KEYS = Keys(tuple(key for key in qwen2.READ if key != "head_dim"))  # which its text does not go by
ARCHITECTURE = Architecture("qwen2_5_vl_text", settings, qwen2.weight_map, KEYS)
FAMILY = replace(ARCHITECTURE.family, likeness=resembles_none)
