"""Qwen3-VL folders: the text's part is Qwen3, whose positions are those of tokens where there are no images.

Source: transformers' Qwen3VLTextConfig and modeling_qwen3_vl.
"""

from dataclasses import replace
from typing import Any

from headlight.model.checkpoints.architecture import Architecture
from headlight.model.checkpoints.families import llama, qwen3
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.multimodal import resembles_none


def settings(config: Any) -> dict[str, Any]:
    """Translate the config of a Qwen3-VL's text to `TransformerConfig` fields; whether it is tied the whole says."""
    return llama.settings(config) | {"use_qk_norm": True, "tie_word_embeddings": bool(config.tie_word_embeddings)}


KEYS = Keys((*llama.BASE, "rms_norm_eps", "attention_bias"))
ARCHITECTURE = Architecture("qwen3_vl_text", settings, qwen3.weight_map, KEYS)
FAMILY = replace(ARCHITECTURE.family, likeness=resembles_none)
