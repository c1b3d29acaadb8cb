"""Gemma 3 folders: Gemma 2's layers with norms of queries and keys, and a rotary base of its own in local layers.

Of a model that reads images the text part is opened.

Source: transformers' Gemma3TextConfig and modeling_gemma3.
"""

from typing import Any

from headlight.model.checkpoints import rope
from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.families import gemma, gemma2, qwen3
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate Gemma 3's config to the fields of `TransformerConfig`."""
    of_global = gemma2.settings(config, config.rope_parameters["full_attention"])
    return of_global | rope.local(config) | {"use_qk_norm": True}


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map Gemma 3's checkpoint tensors to parameter names."""
    head_norms = layers(cfg, lambda layer: qwen3.head_norms(cfg, layer))
    return gemma2.weight_map(cfg, config) | gemma.with_whole_gains(head_norms)


READ = (*gemma2.BASE, "sliding_window_pattern", "rope_local_base_freq")
FAMILY = Architecture("gemma3_text", settings, weight_map, Keys(READ, gemma.ALLOWED)).family
